import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const ENGINE_NAMES = ['docker', 'podman', 'buildah'] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/** A program that keeps images and runs containers of them. */
export interface Engine {
  readonly name: EngineName;
  /** Arguments that load the images of an archive into its store. */
  readonly load: (archive: string) => readonly string[];
}

const ENGINES: readonly (Engine & { readonly probe: readonly string[] })[] = [
  {
    name: 'docker',
    probe: ['version', '--format', '{{.Server.Version}}'],
    load: (file) => ['load', '--input', file],
  },
  { name: 'podman', probe: ['info'], load: (file) => ['load', '--input', file] },
  { name: 'buildah', probe: ['info'], load: (file) => ['pull', `docker-archive:${file}`] },
];

const PROBE_MS = 15_000;

/**
 * Returns the first engine of this machine that answers; a program without its daemon does not. With `wanted` only that
 * one is tried, and the call rejects if it fails.
 */
export async function findEngine(
  wanted: EngineName | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Engine | undefined> {
  for (const engine of ENGINES.filter(({ name }) => wanted === undefined || name === wanted)) {
    try {
      await run(engine.name, engine.probe, { env, timeout: PROBE_MS });
      return engine;
    } catch {
      // It is not installed, or its daemon does not run.
    }
  }
  if (wanted !== undefined)
    throw new Error(`IMAGE_ENGINE=${wanted} does not answer here: start it, or leave IMAGE_ENGINE out`);
  return undefined;
}

/** Puts the images of an archive into the engine's store. Rejects with what the engine says. */
export async function loadInto(
  { name, load }: Engine,
  archive: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  await run(name, load(archive), { env, maxBuffer: 1 << 24 }).catch((error: Error & { stderr?: string }) => {
    throw new Error(`${name} could not load ${archive}: ${error.stderr?.trim() || error.message}`);
  });
}
