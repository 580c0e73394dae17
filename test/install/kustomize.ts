import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildOnce } from '../cluster/go-build.ts';
import { runKubectl } from '../cluster/kubectl.ts';

/** Renders a folder of `deploy/` with the kubectl that the tests build, without a cluster. */
export async function kustomize(folder: string): Promise<string> {
  const programs = await buildOnce(process.env, () => {});
  const cacheFolder = mkdtempSync(join(tmpdir(), 'kustomize-'));
  try {
    return await runKubectl({
      kubectlPath: join(programs, 'kubectl'),
      kubeconfigPath: join(cacheFolder, 'none'),
      cacheFolder,
      args: ['kustomize', folder],
    });
  } finally {
    rmSync(cacheFolder, { recursive: true, force: true });
  }
}
