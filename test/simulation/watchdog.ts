import { Worker } from 'node:worker_threads';

const TICK_MS = 1_000;
const TICKS = 60;

/** Maximum time without a step: a number of ticks of the given length. */
interface Patience {
  readonly tickMs: number;
  readonly ticks: number;
}

/**
 * Watches from a thread of its own whether this one still comes back to its event loop, as it does after every
 * step of a schedule. Code that loops in promises never does: then the thread says on stderr what was being run, and
 * ends the process with 1. It takes part in no schedule and keeps no process alive.
 */
export class Watchdog {
  readonly #thread: Worker;

  constructor({ tickMs, ticks }: Patience = { tickMs: TICK_MS, ticks: TICKS }) {
    const beats = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const counter = new Int32Array(beats);
    this.#thread = new Worker(new URL('./watchdog-thread.ts', import.meta.url), {
      workerData: { beats, tickMs, ticks },
    });
    this.#thread.unref();
    setInterval(() => Atomics.add(counter, 0, 1), tickMs / 2).unref();
  }

  /** Names the current run, precisely enough to replay it. */
  running(what: string): void {
    this.#thread.postMessage(what);
  }
}
