import { spawn } from 'node:child_process';
import {
  accessSync,
  constants as fileAccess,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BUILD_FLAGS, builtFolder, cacheRoot, isBuilt, KUBERNETES_VERSION, MODULE } from './build-cache.ts';
import { withBuildLock } from './build-lock.ts';
import { formatElapsed, showProgress } from './progress.ts';

const PROGRAM = 'control-plane';
/** The names by which the program is called; see main.go. */
const PARTS = ['etcd', 'kube-apiserver', 'test-controllers', 'kubectl'];
const UNFINISHED = '.building-';
const DAY_MS = 24 * 3600 * 1000;

interface GoRun {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Every line of stdout and stderr, as it comes. */
  readonly onLine: (line: string) => void;
}

/** Runs go in the module; rejects with its last lines. The compilers work for minutes, so everybody else goes first. */
function runGo({ args, env, onLine }: GoRun): Promise<void> {
  const child = spawn('go', [...args], {
    cwd: MODULE,
    // No C compiler is asked for, and the user's own workspace is not this module's.
    env: { ...env, CGO_ENABLED: '0', GOWORK: 'off' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const interrupt = () => child.kill('SIGINT');
  process.once('exit', interrupt);
  const last: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      last.splice(0, last.length - 14, line);
      onLine(line);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`go could not be run: ${error.message}`)));
    child.once('close', (code, signal) => {
      process.off('exit', interrupt);
      if (code === 0) resolve();
      else reject(new Error(`go ${args[0]} failed (${signal ?? code}):\n${last.join('\n')}`));
    });
  });
}

const isDownload = (line: string) => line.startsWith('go: downloading ');

/** Fetches the modules and counts the packages to compile. */
async function fetchModules(env: NodeJS.ProcessEnv, show: (rest: string) => void): Promise<number> {
  let modules = 0;
  let packages = 0;
  const onLine = (line: string) => {
    if (isDownload(line)) show(`downloading, ${++modules} modules`);
    else packages += 1;
  };
  await runGo({ args: ['list', '-mod=readonly', '-deps', '.'], env, onLine });
  return packages;
}

async function compile(env: NodeJS.ProcessEnv, output: string, show: (rest: string) => void): Promise<void> {
  const total = await fetchModules(env, show);
  let packages = 0;
  const onLine = (line: string) => {
    if (!line.startsWith('go: ')) show(`${++packages} of ${total} packages`);
  };
  await runGo({ args: ['build', '-mod=readonly', '-v', ...BUILD_FLAGS, '-o', output, '.'], env, onLine });
}

/** Keeps the clock moving while one package takes long. */
async function withProgress(
  title: string,
  work: (show: (rest: string) => void) => Promise<void>,
): Promise<void> {
  const progress = showProgress(process.stderr, title);
  const startedAt = performance.now();
  const elapsed = () => formatElapsed(performance.now() - startedAt);
  let rest = 'starting';
  const show = () => progress.update(`${elapsed()}, ${rest}`);
  show();
  const ticking = setInterval(show, 1_000);
  try {
    await work((text) => {
      rest = text;
    });
    progress.end(`done in ${elapsed()}`);
  } catch (error) {
    progress.end(`failed after ${elapsed()}, ${rest}`);
    throw error;
  } finally {
    clearInterval(ticking);
  }
}

function removeAbandoned(root: string): void {
  for (const name of readdirSync(root).filter((entry) => entry.startsWith(UNFINISHED))) {
    const path = join(root, name);
    if (Date.now() - statSync(path).mtimeMs > DAY_MS) rmSync(path, { recursive: true, force: true });
  }
}

function publish(made: string, destination: string): void {
  try {
    renameSync(made, destination);
  } catch (error) {
    // Somebody else was faster: theirs is as good.
    if (statSync(destination, { throwIfNoEntry: false }) === undefined) throw error;
  }
}

async function build(env: NodeJS.ProcessEnv): Promise<void> {
  const root = cacheRoot(env);
  removeAbandoned(root);
  const unfinished = mkdtempSync(join(root, UNFINISHED));
  const remove = () => rmSync(unfinished, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const title = `Building kube-apiserver ${KUBERNETES_VERSION} from Go modules, once: 4 to 8 minutes on 2 cores`;
    const made = join(unfinished, 'programs');
    mkdirSync(made);
    await withProgress(title, (show) => compile(env, join(made, PROGRAM), show));
    for (const part of PARTS) symlinkSync(PROGRAM, join(made, part));
    publish(made, builtFolder(env));
  } finally {
    process.off('exit', remove);
    remove();
  }
}

function makeCacheRoot(env: NodeJS.ProcessEnv): void {
  const root = cacheRoot(env);
  try {
    mkdirSync(root, { recursive: true });
    accessSync(root, fileAccess.W_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new Error(
      `What is built is kept in ${root}, which cannot be written${code}. Set XDG_CACHE_HOME to a folder that can.`,
    );
  }
}

/** Builds the control plane where these sources have not been built yet, and resolves with the folder. */
export async function buildOnce(env: NodeJS.ProcessEnv, report: (line: string) => void): Promise<string> {
  if (isBuilt(env)) return builtFolder(env);
  makeCacheRoot(env);
  let isReported = false;
  const onWait = () => {
    if (!isReported) report('Another process is building kube-apiserver; waiting for it.');
    isReported = true;
  };
  await withBuildLock(join(cacheRoot(env), 'lock'), onWait, async () => {
    if (!isBuilt(env)) await build(env);
  });
  return builtFolder(env);
}
