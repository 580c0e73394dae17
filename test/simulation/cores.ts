import { fork } from 'node:child_process';
import type { Finished } from './figures.ts';
import type { MarketName } from './simulated-market.ts';

/** Result of one seed. */
export interface PlayedSeed {
  readonly seed: number;
  readonly schedules: readonly Finished[];
  readonly cpuMicros: number;
}

export interface CoresOptions {
  readonly cores: number;
  readonly market: MarketName;
  readonly firstSeed: number;
  readonly seeds: number;
  /** Asked before each seed; those under way are finished all the same. */
  readonly goOn: () => boolean;
  /** Told in the order of the seeds, whichever core was faster. */
  readonly onPlayed: (played: PlayedSeed) => void;
}

/** Plays seeds in several processes. Rejects if a process exits before its seed is done. */
export async function playOnCores(options: CoresOptions): Promise<void> {
  const seeds = new Seeds(options);
  await Promise.all(Array.from({ length: options.cores }, () => runCore(seeds, options.market)));
}

/** Hands seeds out, and puts what came of them in order. */
class Seeds {
  readonly #options: CoresOptions;
  readonly #early = new Map<number, PlayedSeed>();
  #next: number;
  #reported: number;

  constructor(options: CoresOptions) {
    this.#options = options;
    this.#next = options.firstSeed;
    this.#reported = options.firstSeed;
  }

  take(): number | undefined {
    const { firstSeed, seeds, goOn } = this.#options;
    if (this.#next >= firstSeed + seeds || !goOn()) return undefined;
    this.#next += 1;
    return this.#next - 1;
  }

  played(played: PlayedSeed): void {
    this.#early.set(played.seed, played);
    for (let due = this.#early.get(this.#reported); due; due = this.#early.get(this.#reported)) {
      this.#early.delete(this.#reported);
      this.#reported += 1;
      this.#options.onPlayed(due);
    }
  }
}

function runCore(seeds: Seeds, market: MarketName): Promise<void> {
  const core = fork(new URL('./core.ts', import.meta.url));
  return new Promise((resolve, reject) => {
    let playing: number | undefined;
    const goOn = (): void => {
      playing = seeds.take();
      if (playing === undefined) core.disconnect();
      // Of a process that has died its exit tells more than the pipe that it left.
      else core.send({ seed: playing, market }, () => {});
    };
    core.on('message', (played) => {
      // Both ends are of one build.
      seeds.played(played as PlayedSeed);
      goOn();
    });
    core.on('error', reject);
    core.on('exit', (code, signal) => {
      if (playing === undefined) resolve();
      else reject(new Error(`The process that played seed ${playing} ended with ${code ?? signal}`));
    });
    goOn();
  });
}
