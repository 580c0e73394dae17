import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A program that keeps images and runs containers of them. */
export interface Engine {
  readonly name: 'docker' | 'podman' | 'buildah';
  /** What puts the images of an archive into its store. */
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

/** The first engine of this machine that answers; a program without its daemon does not. */
export async function findEngine(env: NodeJS.ProcessEnv): Promise<Engine | undefined> {
  for (const engine of ENGINES) {
    try {
      await run(engine.name, engine.probe, { env, timeout: PROBE_MS });
      return engine;
    } catch {
      // It is not installed, or its daemon does not run.
    }
  }
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
