/**
 * `node scripts/verify/kubernetes-versions.ts`: everything that the charts render and `deploy/` holds, against the
 * schemas of three Kubernetes versions, by kubernetes-validate (PyPI) in an environment of its own.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { openHelm } from '../../test/install/helm.ts';
import { valueSets } from '../../test/install/value-sets.ts';
import { REPOSITORY } from '../generate/artifact.ts';

const PACKAGE = 'kubernetes-validate==1.37.0';
const VERSIONS = ['1.35.0', '1.36.0', '1.37.0'];
/** Kinds of Kubernetes itself: there are no schemas of others in the package. */
const BUILT_IN = /^(v1|[a-z]+\/v\d+|[a-z.]+\.k8s\.io\/v\d+)$/;

function prepare(folder: string): string {
  execFileSync('python3', ['-m', 'venv', folder]);
  execFileSync(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', PACKAGE], {
    stdio: 'inherit',
  });
  return join(folder, 'bin/kubernetes-validate');
}

function builtIn(text: string): readonly unknown[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as { apiVersion?: string } | null)
    .filter((object) => object !== null && BUILT_IN.test(object.apiVersion ?? ''));
}

const folder = mkdtempSync(join(tmpdir(), 'verify-'));
let failed = 0;
try {
  const program = prepare(join(folder, 'venv'));
  const helm = await openHelm(folder);
  const chart = join(REPOSITORY, 'charts/gpu-rental-operator');
  const sources: [string, string][] = [];
  for (const { name, valuesPath } of valueSets) {
    sources.push([`chart ${name}`, await helm.run(['template', 'release', chart, '--values', valuesPath])]);
  }
  const kubectl = process.env.KUBECTL ?? 'kubectl';
  for (const overlay of ['cluster-wide', 'one-namespace', 'high-availability']) {
    const args = ['kustomize', join(REPOSITORY, 'deploy/overlays', overlay)];
    sources.push([
      `overlay ${overlay}`,
      execFileSync(kubectl, args, { encoding: 'utf8', maxBuffer: 2 ** 26 }),
    ]);
  }
  for (const [name, text] of sources) {
    const file = join(folder, 'objects.yaml');
    const objects = builtIn(text);
    writeFileSync(file, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    for (const version of VERSIONS) {
      const { status, stdout, stderr } = spawnSync(program, ['--strict', '-k', version, '--quiet', file], {
        encoding: 'utf8',
      });
      process.stdout.write(
        `${status === 0 ? 'ok' : 'FAILED'}: ${name}, ${objects.length} objects, Kubernetes ${version}\n`,
      );
      if (status !== 0) process.stdout.write(`${stdout}${stderr}\n`);
      failed += status === 0 ? 0 : 1;
    }
  }
} finally {
  if (existsSync(folder)) rmSync(folder, { recursive: true });
}
process.exitCode = failed === 0 ? 0 : 1;
