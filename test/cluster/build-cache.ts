import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CONTROL_PLANE, type GoModule } from './go-modules.ts';
import { formatElapsed } from './progress.ts';

function hashSources({ folder, flags }: GoModule): string {
  const hash = createHash('sha256');
  const files = globSync(['**/*.go', 'go.{mod,sum}'], { cwd: folder });
  for (const name of files.toSorted()) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  return hash.update(flags.join('\0')).digest('hex').slice(0, 12);
}

/** Returns the user's cache folder for all versions of that module's programs. */
export function cacheRoot(env: NodeJS.ProcessEnv, { name }: GoModule = CONTROL_PLANE): string {
  const given = env.XDG_CACHE_HOME;
  const cache = given === undefined || given === '' ? join(homedir(), '.cache') : given;
  return join(cache, 'gpu-rental-operator', name);
}

/** Returns the folder of the programs built from these sources. */
export function builtFolder(env: NodeJS.ProcessEnv, module: GoModule = CONTROL_PLANE): string {
  const name = `${module.version}-${hashSources(module)}-${process.platform}-${process.arch}`;
  return join(cacheRoot(env, module), name);
}

/**
 * Returns true if the build exists. A build moves its folder into place in one step, so an existing folder is
 * complete.
 */
export function isBuilt(env: NodeJS.ProcessEnv, module: GoModule = CONTROL_PLANE): boolean {
  return existsSync(builtFolder(env, module));
}

const timeFile = (env: NodeJS.ProcessEnv, module: GoModule): string =>
  join(cacheRoot(env, module), 'last-build-ms');

/**
 * Returns the duration of the last build of any version on this machine, such as `7m32s`; undefined before the first.
 */
export function lastBuildTook(env: NodeJS.ProcessEnv, module: GoModule = CONTROL_PLANE): string | undefined {
  const path = timeFile(env, module);
  const ms = existsSync(path) ? Number(readFileSync(path, 'utf8')) : Number.NaN;
  return Number.isFinite(ms) ? formatElapsed(ms) : undefined;
}

/** Keeps the time of a build for {@link lastBuildTook}. */
export function noteBuildTime(env: NodeJS.ProcessEnv, module: GoModule, ms: number): void {
  writeFileSync(timeFile(env, module), `${Math.round(ms)}\n`);
}
