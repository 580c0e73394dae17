import type { Clock } from '../lib/clock.ts';
import { DeadlineError, withDeadline } from '../lib/deadline.ts';
import type { Logger } from '../lib/logger.ts';
import { firstAbort, untilAborted } from './first-abort.ts';
import type { LeaderElection } from './lease/leader-election.ts';

/** A local copy that must be complete before any decision uses it. */
export interface SyncedSource {
  readonly name: string;
  start(): void;
  stop(): Promise<void>;
  readonly synced: Promise<void>;
  /** Epoch milliseconds of the API server's last response; absent if unknown. */
  health?(): { readonly lastContactAt: number | undefined };
}

/** A task that runs only while this process leads: controllers, feeds, sweeps. */
export interface LeaderTask {
  readonly name: string;
  start(): void | Promise<void>;
  stop(): void | Promise<void>;
}

export interface ManagerOptions {
  readonly sources: readonly SyncedSource[];
  /** Tasks, started in this order and stopped in the reverse one. */
  readonly tasks: readonly LeaderTask[];
  /** Leader election; absent: this process leads without one. */
  readonly election?: LeaderElection | undefined;
  /** Milliseconds for sources to be complete, repeated while the API server keeps sending. Default 2 min. */
  readonly syncTimeoutMs?: number | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Reason for the end of {@link Manager.run}. `lost`: another process may lead now, so this one should end. */
export type ManagerEnd = 'stopped' | 'lost';

/**
 * Life cycle of a controller process: start and sync the sources, acquire the lease, run the tasks. It ends in the
 * reverse order, so that the lease is released only when nothing acts any more.
 */
export interface Manager {
  /**
   * Runs until {@link stop} or until the lease is lost; when it resolves everything has ended. Rejects if a source or
   * task cannot start.
   */
  run(): Promise<ManagerEnd>;
  /** Ends {@link run} and waits for it. */
  stop(): Promise<void>;
  /** Returns true if all sources are complete: a standby replica is ready too. */
  isReady(): boolean;
  isLeading(): boolean;
}

const SYNC_TIMEOUT_MS = 120_000;
/** Maximum number of timeouts for a source that receives data: if it is incomplete then, it never will be complete. */
const MAX_SYNC_TIMEOUTS = 5;

export function createManager(options: ManagerOptions): Manager {
  return new OrderedManager(options);
}

class OrderedManager implements Manager {
  readonly #options: ManagerOptions;
  readonly #stopping = new AbortController();
  #running: Promise<ManagerEnd> | undefined;
  #ready = false;
  #leading = false;

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  run(): Promise<ManagerEnd> {
    this.#running ??= this.#live();
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('The manager was stopped'));
    await this.#running?.catch(() => {});
  }

  isReady(): boolean {
    return this.#ready;
  }

  isLeading(): boolean {
    return this.#leading;
  }

  async #live(): Promise<ManagerEnd> {
    const { election, sources, log } = this.#options;
    const lost = election?.lost ?? new AbortController().signal;
    const { signal: ending } = firstAbort([this.#stopping.signal, lost]);
    const started: LeaderTask[] = [];
    try {
      await this.#syncSources();
      this.#ready = true;
      await election?.acquire(this.#stopping.signal);
      this.#leading = true;
      await this.#startTasks(started, ending);
      await untilAborted(ending);
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error;
    } finally {
      this.#leading = false;
      await this.#endAll(started.toReversed().map((task) => () => task.stop()));
      await election?.release();
      await this.#endAll(sources.map((source) => () => source.stop()));
      log.info('Manager ended');
    }
    return this.#stopping.signal.aborted ? 'stopped' : 'lost';
  }

  async #syncSources(): Promise<void> {
    const { sources, clock, syncTimeoutMs: limitMs = SYNC_TIMEOUT_MS } = this.#options;
    for (const source of sources) source.start();
    const waiting = new Set(sources);
    const syncs = Promise.all(sources.map((source) => source.synced.then(() => waiting.delete(source))));
    for (let timeouts = 1; ; timeouts++) {
      const begun = clock.now();
      try {
        await withDeadline({ clock, limitMs, signal: this.#stopping.signal }, () => syncs);
        return;
      } catch (cause) {
        const isAnswered = [...waiting].every((source) => (source.health?.().lastContactAt ?? 0) > begun);
        if (isAnswered && timeouts < MAX_SYNC_TIMEOUTS && cause instanceof DeadlineError) continue;
        const names = [...waiting].map(({ name }) => name);
        throw new Error(`No complete list of ${names.join(', ')} within ${timeouts * limitMs} ms`, { cause });
      }
    }
  }

  async #startTasks(started: LeaderTask[], ending: AbortSignal): Promise<void> {
    for (const task of this.#options.tasks) {
      if (ending.aborted) return;
      started.push(task);
      await task.start();
    }
  }

  /** Stops all; if one fails to stop, the others are still stopped. */
  async #endAll(stops: readonly (() => void | Promise<void>)[]): Promise<void> {
    for (const stop of stops) {
      try {
        await stop();
      } catch (error) {
        this.#options.log.error('Could not be stopped', { error });
      }
    }
  }
}
