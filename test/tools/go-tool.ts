import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import * as z from 'zod';
import { cacheRoot } from '../cluster/build-cache.ts';
import { withBuildLock } from '../cluster/build-lock.ts';
import { COMPILER_FLAGS, SMALL_PROGRAM } from '../cluster/go-modules.ts';
import { formatElapsed, showProgress } from '../cluster/progress.ts';

/** A program that is built from its Go module at one version. */
export interface GoTool {
  /** Such as `helm.sh/helm/v4`. */
  readonly module: string;
  readonly version: string;
  /** The folder of its main in the module, such as `cmd/helm`; `.` is the module's own. */
  readonly main: string;
  /**
   * A folder whose go.mod and go.sum name the module as a tool. For a module that cannot be built in its own folder,
   * because its go.mod replaces another one by a folder that is not part of it.
   */
  readonly toolsFolder?: string;
}

export const HELM: GoTool = { module: 'helm.sh/helm/v4', version: 'v4.3.1', main: 'cmd/helm' };

/** What publishes a release: pushes and pulls images, and is the registry of a rehearsal. */
export const CRANE: GoTool = {
  module: 'github.com/google/go-containerregistry',
  version: 'v0.21.9',
  main: 'cmd/crane',
};
export const COSIGN: GoTool = {
  module: 'github.com/sigstore/cosign/v3',
  version: 'v3.1.3',
  main: 'cmd/cosign',
};

/** What `make verify-all` uses besides. */
export const HELM_3: GoTool = { module: 'helm.sh/helm/v3', version: 'v3.22.0', main: 'cmd/helm' };
export const HELM_UNITTEST: GoTool = {
  module: 'github.com/helm-unittest/helm-unittest',
  version: 'v1.1.2',
  main: 'cmd/helm-unittest',
};
export const KUBE_SCORE: GoTool = {
  module: 'github.com/zegl/kube-score',
  version: 'v1.20.0',
  main: 'cmd/kube-score',
};
export const PROMTOOL: GoTool = {
  module: 'github.com/prometheus/prometheus',
  version: 'v0.315.0',
  main: 'cmd/promtool',
};
export const ACTIONLINT: GoTool = {
  module: 'github.com/rhysd/actionlint',
  version: 'v1.7.12',
  main: 'cmd/actionlint',
};

/** What `go mod download -json` says, as far as it is read. */
const downloaded = z.object({ Dir: z.string() });

const nameOf = ({ module, main }: GoTool): string => basename(join(module, main));

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
  const goEnv = { ...env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' };
  const count = (packages: number) => progress.update(`${elapsed()}, ${packages} packages`);
  const source = tool.toolsFolder ?? (await downloadModule(tool, goEnv));
  await runGoBuild({ tool, folder, source, env: goEnv }, count);
  progress.end(`done in ${elapsed()}`);
}

/**
 * Fetches the module and resolves with its folder, which must not be written to. A tool is built there, and not by
 * `go install`, because its go.mod may replace what it requires.
 */
export async function downloadModule(
  { module, version }: Pick<GoTool, 'module' | 'version'>,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const args = ['mod', 'download', '-json', `${module}@${version}`];
  const { stdout } = await promisify(execFile)('go', args, { env, cwd: tmpdir() }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT')
        throw new Error(
          `${module} ${version} comes from its Go module, and go is not on PATH: install Go 1.26 or newer from https://go.dev/dl`,
        );
      throw new Error(`${module} ${version} could not be fetched: ${error.message}`);
    },
  );
  return downloaded.parse(JSON.parse(stdout)).Dir;
}

interface GoBuild {
  readonly tool: GoTool;
  readonly source: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

function runGoBuild(
  { tool, source, folder, env }: GoBuild,
  onPackage: (count: number) => void,
): Promise<void> {
  const args = [
    'build',
    '-v',
    '-buildvcs=false',
    ...COMPILER_FLAGS,
    SMALL_PROGRAM,
    '-o',
    join(folder, nameOf(tool)),
    tool.toolsFolder === undefined ? `./${tool.main}` : posix.join(tool.module, tool.main),
  ];
  const child = spawn('go', args, { cwd: source, env, stdio: ['ignore', 'ignore', 'pipe'] });
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
      else reject(new Error(`${nameOf(tool)} ${tool.version} could not be built:\n${last.join('\n')}`));
    });
  });
}
