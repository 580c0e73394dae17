import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { inBackground } from '../lib/background.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

export interface EnvoyProcessOptions {
  /** Path of the binary. */
  readonly path: string;
  /** Bootstrap configuration, JSON. It may name files in a private folder, which is deleted with the process. */
  readonly config: string | ((folder: string) => string);
  readonly clock: Clock;
  readonly log: Logger;
}

/** An Envoy that this process runs. */
export interface EnvoyProcess {
  /** Returns the problem as text; undefined while Envoy runs. */
  problem(): string | undefined;
  /** Stops Envoy: SIGTERM, and SIGKILL after some seconds. */
  stop(): Promise<void>;
}

/** The binary cannot be run. */
export class EnvoyStartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EnvoyStartError';
  }
}

const FIRST_REST_MS = 500;
const MAX_REST_MS = 15_000;
/** Time after which a start counts as successful. */
const STEADY_MS = 60_000;
const KILL_AFTER_MS = 5_000;

/**
 * A shell that runs `$@` until its standard input closes. This process has the other end, so Envoy stops with it
 * however it ends; otherwise Envoy would keep the port without a picker.
 */
const TIED_TO_PARENT = `
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
( read -r _ <&3; kill -TERM "$child" 2>/dev/null ) &
watch=$!
trap 'kill -TERM "$child" 2>/dev/null' TERM
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
kill "$watch" 2>/dev/null
exit "$code"
`;

/**
 * Runs Envoy with that configuration and restarts it when it ends, with growing pauses if it keeps ending. Rejects with
 * {@link EnvoyStartError} if the binary is missing, cannot be run, or refuses the configuration.
 */
export async function startEnvoy(options: EnvoyProcessOptions): Promise<EnvoyProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'gpu-rent-envoy-'));
  try {
    const configPath = join(folder, 'envoy.json');
    const { config } = options;
    await writeFile(configPath, typeof config === 'string' ? config : config(folder), { mode: 0o600 });
    await validate(options.path, configPath);
    return new SupervisedEnvoy(options, { folder, configPath });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Validates the configuration with the binary, so that a wrong binary or address is reported before any port is opened.
 */
async function validate(path: string, configPath: string): Promise<void> {
  const child = spawn(path, ['--mode', 'validate', '-c', configPath, '--log-level', 'error'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output = `${output}${String(chunk)}`.slice(-2_000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).catch((cause: unknown) => {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it failed';
    throw new EnvoyStartError(`${path} cannot be run (${why}): name an Envoy binary for this machine`, {
      cause,
    });
  });
  if (code === 0) return;
  const last = output.trim().split('\n').at(-1) ?? '';
  throw new EnvoyStartError(
    `${path} refuses the configuration (${code}): ${last}. Name an Envoy 1.39 or newer, or compare --print-envoy-config`,
  );
}

class SupervisedEnvoy implements EnvoyProcess {
  readonly #options: EnvoyProcessOptions;
  readonly #folder: string;
  readonly #ending = new AbortController();
  readonly #ended: Promise<void>;
  #child: ChildProcess | undefined;
  #problem: string | undefined;

  constructor(options: EnvoyProcessOptions, place: { readonly folder: string; readonly configPath: string }) {
    this.#options = options;
    this.#folder = place.folder;
    const ended = Promise.withResolvers<void>();
    this.#ended = ended.promise;
    inBackground(
      { task: 'envoy' },
      () => this.#keepRunning(place.configPath).finally(ended.resolve),
      (error) => options.log.error('Envoy is not run any more', { error }),
    );
  }

  problem(): string | undefined {
    return this.#problem;
  }

  async stop(): Promise<void> {
    const { clock } = this.#options;
    this.#ending.abort();
    this.#child?.kill('SIGTERM');
    // Its standard input closes as well, so the shell in between ends too.
    const kill = clock.setTimer(KILL_AFTER_MS, () => this.#killGroup());
    await this.#ended;
    kill.cancel();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #killGroup(): void {
    const pid = this.#child?.pid;
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }

  async #keepRunning(configPath: string): Promise<void> {
    const { clock, log } = this.#options;
    let restMs = FIRST_REST_MS;
    while (!this.#ending.signal.aborted) {
      const startedAt = clock.monotonic();
      const end = await this.#runOnce(configPath);
      if (this.#ending.signal.aborted) return;
      this.#problem = `Envoy ended (${end})`;
      log.error('Envoy ended and is started again', { end });
      if (clock.monotonic() - startedAt >= STEADY_MS) restMs = FIRST_REST_MS;
      await sleep(clock, restMs, this.#ending.signal).catch(() => {});
      restMs = Math.min(MAX_REST_MS, restMs * 2);
    }
  }

  /** Resolves to the way in which it ended. */
  #runOnce(configPath: string): Promise<string> {
    const { path, log } = this.#options;
    const args = ['-c', configPath, '--disable-hot-restart', '--log-level', 'warning'];
    const child = spawn('/bin/sh', ['-c', TIED_TO_PARENT, 'envoy', path, ...args], {
      stdio: ['pipe', 'ignore', 'pipe'],
      // A separate process group: Ctrl-C reaches only this process, which stops Envoy when its requests are done.
      detached: true,
    });
    this.#child = child;
    this.#problem = undefined;
    child.stdin.on('error', () => {});
    createInterface({ input: child.stderr }).on('line', (line) => log.warn('Envoy says', { line }));
    return new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
    });
  }
}
