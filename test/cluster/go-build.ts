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
import { join } from 'node:path';
import { builtFolder, cacheRoot, isBuilt, lastBuildTook, noteBuildTime } from './build-cache.ts';
import { withBuildLock } from './build-lock.ts';
import { CONTROL_PLANE, type GoModule } from './go-modules.ts';
import { isAboutGo, runGo, withProgress } from './go-run.ts';

const UNFINISHED = '.building-';
const DAY_MS = 24 * 3600 * 1000;

const isDownload = (line: string) => line.startsWith('go: downloading ');

interface Compilation {
  readonly module: GoModule;
  readonly env: NodeJS.ProcessEnv;
  /** Receives the programs, each by the name of its package. */
  readonly output: string;
  /** Receives whatever else go makes. */
  readonly unfinished: string;
  readonly show: (rest: string) => void;
}

/** Fetches the modules and counts the packages to compile. */
async function fetchModules({ module, env, unfinished, show }: Compilation): Promise<number> {
  let modules = 0;
  let packages = 0;
  const onLine = (line: string) => {
    if (isDownload(line)) show(`downloading, ${++modules} modules`);
    else packages += 1;
  };
  const args = ['list', '-mod=readonly', '-deps', './...'];
  await runGo({ folder: module.folder, args, env, onLine, unfinished });
  return packages;
}

async function compile(compilation: Compilation): Promise<void> {
  const { module, env, output, unfinished, show } = compilation;
  const total = await fetchModules(compilation);
  let packages = 0;
  const onLine = (line: string) => {
    if (!isAboutGo(line)) show(`${++packages} of ${total} packages`);
  };
  const args = ['build', '-mod=readonly', '-v', ...module.flags, '-o', `${output}/`, './...'];
  await runGo({ folder: module.folder, args, env, onLine, unfinished });
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

function titleOf(env: NodeJS.ProcessEnv, module: GoModule): string {
  const took = lastBuildTook(env, module);
  return took === undefined ? module.title : `${module.title}; the last time it took ${took} here`;
}

/** Step that completes the built programs before they are stored. */
export type Finish = (folder: string) => Promise<void>;

async function build(env: NodeJS.ProcessEnv, module: GoModule, finish: Finish): Promise<void> {
  const root = cacheRoot(env, module);
  removeAbandoned(root);
  const unfinished = mkdtempSync(join(root, UNFINISHED));
  const remove = () => rmSync(unfinished, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const output = join(unfinished, 'programs');
    mkdirSync(output);
    const startedAt = performance.now();
    await withProgress(titleOf(env, module), async (show) => {
      await compile({ module, env, output, unfinished, show });
      for (const [name, program] of module.links) symlinkSync(program, join(output, name));
      await finish(output);
    });
    publish(output, builtFolder(env, module));
    noteBuildTime(env, module, performance.now() - startedAt);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

function makeCacheRoot(env: NodeJS.ProcessEnv, module: GoModule): void {
  const root = cacheRoot(env, module);
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

export interface BuildOptions {
  readonly module?: GoModule;
  readonly finish?: Finish;
}

/** Builds the module's programs where these sources have not been built yet, and resolves with the folder. */
export async function buildOnce(
  env: NodeJS.ProcessEnv,
  report: (line: string) => void,
  { module = CONTROL_PLANE, finish = async () => {} }: BuildOptions = {},
): Promise<string> {
  if (isBuilt(env, module)) return builtFolder(env, module);
  makeCacheRoot(env, module);
  let isReported = false;
  const onWait = () => {
    if (!isReported) report(`Another process is building the ${module.name}; waiting for it.`);
    isReported = true;
  };
  await withBuildLock(join(cacheRoot(env, module), 'lock'), onWait, async () => {
    if (!isBuilt(env, module)) await build(env, module, finish);
  });
  return builtFolder(env, module);
}
