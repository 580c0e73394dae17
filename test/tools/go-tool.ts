import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { cacheRoot } from '../cluster/build-cache.ts';
import { withBuildLock } from '../cluster/build-lock.ts';
import { COMPILER_FLAGS, SMALL_PROGRAM } from '../cluster/go-modules.ts';
import { isAboutGo, runGo, withProgress } from '../cluster/go-run.ts';

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

/** Tool that publishes a release: it pushes and pulls images, and is the registry of a rehearsal. */
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

/** Tools that `make verify-all` also uses. */
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

/** Output of `go mod download -json`, as far as needed. */
const downloaded = z.object({ Dir: z.string() });

const nameOf = ({ module, main }: GoTool): string => basename(join(module, main));

/** Returns the path of the tool, built or not: in the user's cache, by version and platform. */
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

const MADE = 'made';

/** Builds the tool. The folder is moved into place in one step, so an existing folder is complete. */
async function build(tool: GoTool, path: string, env: NodeJS.ProcessEnv): Promise<void> {
  const unfinished = mkdtempSync(join(dirname(dirname(path)), '.building-'));
  const made = join(unfinished, MADE);
  mkdirSync(made);
  try {
    await install(tool, unfinished, env);
    renameSync(made, dirname(path));
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

async function install(tool: GoTool, unfinished: string, env: NodeJS.ProcessEnv): Promise<void> {
  const { module, version, main, toolsFolder } = tool;
  const title = `Building ${nameOf(tool)} ${version} from its Go module, once: minutes of processor time`;
  await withProgress(title, async (show) => {
    let packages = 0;
    const onLine = (line: string) => {
      if (!isAboutGo(line)) show(`${++packages} packages`);
    };
    const goEnv = { ...env, GOWORK: 'off', GOFLAGS: '' };
    const folder = toolsFolder ?? (await downloadModule(tool, goEnv));
    const output = join(unfinished, MADE, nameOf(tool));
    const source = toolsFolder === undefined ? `./${main}` : posix.join(module, main);
    const flags = ['-v', '-buildvcs=false', ...COMPILER_FLAGS, SMALL_PROGRAM];
    const args = ['build', ...flags, '-o', output, source];
    await runGo({ folder, args, env: goEnv, onLine, unfinished }).catch((error: Error) => {
      throw new Error(`${nameOf(tool)} ${version} could not be built: ${error.message}`, { cause: error });
    });
  });
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
