import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { cacheRoot } from '../cluster/build-cache.ts';
import { withBuildLock } from '../cluster/build-lock.ts';
import { formatElapsed, showProgress } from '../cluster/progress.ts';

/** A program that is built from its Go module at one version. */
export interface GoTool {
  /** The package of its main, such as `helm.sh/helm/v4/cmd/helm`. */
  readonly package: string;
  readonly version: string;
}

export const HELM: GoTool = { package: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' };

/** What `make verify-all` uses besides. */
export const HELM_3: GoTool = { package: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' };
export const HELM_UNITTEST: GoTool = {
  package: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
  version: 'v1.1.2',
};
export const KUBE_SCORE: GoTool = {
  package: 'github.com/zegl/kube-score/cmd/kube-score',
  version: 'v1.20.0',
};
export const PROMTOOL: GoTool = {
  package: 'github.com/prometheus/prometheus/cmd/promtool',
  version: 'v0.315.0',
};
export const ACTIONLINT: GoTool = {
  package: 'github.com/rhysd/actionlint/cmd/actionlint',
  version: 'v1.7.12',
};

const nameOf = (tool: GoTool): string => basename(tool.package);

/** Where the tool is, or will be: this user's cache, by version and platform. */
export function goToolPath(tool: GoTool, env: NodeJS.ProcessEnv): string {
  const folder = `${nameOf(tool)}-${tool.version}-${process.platform}-${process.arch}`;
  return join(dirname(cacheRoot(env)), 'tools', folder, nameOf(tool));
}

/** Builds the tool unless this user's cache has it, with progress on stderr, and resolves with its path. */
export async function goTool(tool: GoTool, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const path = goToolPath(tool, env);
  if (existsSync(path)) return path;
  const root = dirname(dirname(path));
  await withBuildLock(
    join(root, `${nameOf(tool)}.lock`),
    () => {},
    async () => {
      if (!existsSync(path)) await build(tool, path, env);
    },
  );
  return path;
}

/** The folder appears in one step, so where it is, the tool is whole. */
async function build(tool: GoTool, path: string, env: NodeJS.ProcessEnv): Promise<void> {
  const unfinished = mkdtempSync(join(dirname(dirname(path)), '.building-'));
  const made = join(unfinished, 'made');
  mkdirSync(made);
  try {
    await install(tool, made, env);
    renameSync(made, dirname(path));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function install(tool: GoTool, folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const title = `Building ${nameOf(tool)} ${tool.version} from its Go module, once: minutes of processor time`;
  const progress = showProgress(process.stderr, title);
  const startedAt = performance.now();
  const elapsed = (): string => formatElapsed(performance.now() - startedAt);
  await runGoInstall(
    tool,
    { ...env, GOBIN: folder, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' },
    (packages) => progress.update(`${elapsed()}, ${packages} packages`),
  );
  progress.end(`done in ${elapsed()}`);
}

function runGoInstall(
  tool: GoTool,
  env: NodeJS.ProcessEnv,
  onPackage: (count: number) => void,
): Promise<void> {
  const args = ['install', '-v', '-trimpath', `${tool.package}@${tool.version}`];
  const child = spawn('go', [...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  const last: string[] = [];
  let packages = 0;
  createInterface({ input: child.stderr }).on('line', (line) => {
    last.splice(0, last.length - 9, line);
    if (!line.startsWith('go: ')) packages += 1;
    onPackage(packages);
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`go could not be run: ${error.message}`)));
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`go install ${tool.package}@${tool.version} failed:\n${last.join('\n')}`));
    });
  });
}
