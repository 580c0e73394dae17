/** A worker as the queue sees it. */
export interface WorkerView {
  readonly name: string;
  /** False: it finishes what it has, and gets nothing new. */
  readonly ready: boolean;
}

/** How requests of a group wait. */
export interface QueueSettings {
  readonly holdMs: number;
  readonly maxHeld: number;
  /** The longest that a request may wait in a worker. */
  readonly maxQueueTimeMs: number;
  /** Work per second of one worker; undefined: any number of requests fits into one. */
  readonly expectedPerf: number | undefined;
}

/** Why no worker can be started. */
export interface Blocked {
  readonly reason: string;
  readonly message: string;
}

export interface Arrival {
  readonly id: string;
  /** Units of work; 1 for a group that counts requests. */
  readonly work: number;
}

/** A refusal of the picker, by its code in the body. */
export interface Refusal {
  readonly status: 503;
  readonly code: 'queue_full' | 'hold_expired' | 'workers_blocked';
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** What is to be done after an event. */
export type Effect =
  /** `candidates`: names of workers, the best first. */
  | {
      readonly type: 'pick';
      readonly id: string;
      readonly candidates: readonly string[];
      readonly waitMs: number;
    }
  | { readonly type: 'refuse'; readonly id: string; readonly refusal: Refusal }
  /** A request waits and no worker is ready: one has to be started. */
  | { readonly type: 'wake' };

/** How a request that was picked for ended. */
export interface Ending {
  /** Who served it last; undefined where no worker was reached. */
  readonly worker: string | undefined;
  /** A worker that was tried did not do what it should: it answered 5xx or could not be reached. */
  readonly failed: boolean;
  /** Units of work that it was in the end; left out where that is what it counted as at its arrival. */
  readonly work?: number | undefined;
}

/** Work of a group, as the operator asks for it: see `GatewayReport`. Counters begin at 0 with this queue. */
export interface QueueReport {
  readonly arrivedWork: number;
  readonly overestimatedWork: number;
  readonly refusedWork: number;
  readonly heldRequests: number;
  readonly heldWork: number;
  /** Those that have requests. */
  readonly workers: readonly { readonly name: string; readonly requests: number; readonly work: number }[];
}

interface Held {
  readonly id: string;
  readonly work: number;
  readonly since: number;
}

interface InFlight {
  readonly work: number;
  readonly worker: string;
}

/** The first choice, and two for retries. */
const MAX_CANDIDATES = 3;
/** A worker that failed comes after all others for so long. */
const SHUNNED_MS = 10_000;
/** Where requests still wait and none is ready, the wake is repeated: what was started may have failed. */
const WAKE_AGAIN_MS = 30_000;

/**
 * The requests of one group: each is given a worker in the order of arrival, or waits until one accepts it. Pure: the
 * time is an argument, in milliseconds, and each event returns what is to be done.
 *
 * A worker accepts a request if the work that it has, from all pickers, is done within `maxQueueTime`. The one with the
 * least work is taken; of equal ones the first by name. One that failed within 10 s comes last, and is still taken before
 * nothing.
 */
export class GroupQueue {
  #settings: QueueSettings;
  #workers: readonly WorkerView[] = [];
  #blocked: Blocked | undefined;
  readonly #held = new Map<string, Held>();
  readonly #inFlight = new Map<string, InFlight>();
  readonly #workOf = new Map<string, number>();
  readonly #failedAt = new Map<string, number>();
  /** Work that the workers have from other pickers. */
  #others: ReadonlyMap<string, number> = new Map();
  #arrivedWork = 0;
  #overestimatedWork = 0;
  #refusedWork = 0;
  #wokenAt: number | undefined;

  constructor(settings: QueueSettings) {
    this.#settings = settings;
  }

  configure(settings: QueueSettings, now: number): readonly Effect[] {
    this.#settings = settings;
    return this.#advance(now);
  }

  setWorkers(workers: readonly WorkerView[], now: number): readonly Effect[] {
    this.#workers = workers;
    const names = new Set(workers.map(({ name }) => name));
    for (const name of this.#failedAt.keys()) if (!names.has(name)) this.#failedAt.delete(name);
    return this.#advance(now);
  }

  /** Undefined: workers can be started. */
  setBlocked(blocked: Blocked | undefined, now: number): readonly Effect[] {
    this.#blocked = blocked;
    return this.#advance(now);
  }

  /** Work that workers have through other pickers, by their names: the limits of a worker are shared. */
  setOthers(work: ReadonlyMap<string, number>, now: number): readonly Effect[] {
    this.#others = work;
    return this.#advance(now);
  }

  arrive({ id, work }: Arrival, now: number): readonly Effect[] {
    const arrived = { id, work, since: now };
    this.#held.set(id, arrived);
    this.#arrivedWork += work;
    const effects = this.#advance(now);
    if (!this.#held.has(id) || this.#held.size <= this.#settings.maxHeld) return effects;
    const message = `${this.#settings.maxHeld} requests wait already, as many as spec.gateway.maxHeld allows.`;
    return [...effects, this.#refuse(arrived, 'queue_full', message)];
  }

  /** The client left while its request was held. False where it was not. */
  leave(id: string): boolean {
    const held = this.#held.get(id);
    if (!held) return false;
    this.#held.delete(id);
    this.#overestimatedWork += held.work;
    if (this.#held.size === 0) this.#wokenAt = undefined;
    return true;
  }

  /** A request that was picked for has ended. What it was estimated at is corrected to what it was, up or down. */
  end(id: string, { worker, failed, work }: Ending, now: number): readonly Effect[] {
    const one = this.#inFlight.get(id);
    if (!one) return [];
    this.#inFlight.delete(id);
    const excess = one.work - (work ?? one.work);
    if (excess > 0) this.#overestimatedWork += excess;
    else this.#arrivedWork -= excess;
    const rest = (this.#workOf.get(one.worker) ?? 0) - one.work;
    if (rest > 0) this.#workOf.set(one.worker, rest);
    else this.#workOf.delete(one.worker);
    // A first choice that another one had to stand in for has failed as well.
    const failing = failed
      ? (worker ?? one.worker)
      : worker !== undefined && worker !== one.worker
        ? one.worker
        : undefined;
    if (failing === undefined) this.#failedAt.delete(one.worker);
    else this.#failedAt.set(failing, now);
    return this.#advance(now);
  }

  tick(now: number): readonly Effect[] {
    return this.#advance(now);
  }

  /** When {@link tick} is due; undefined while nothing waits. */
  nextAt(): number | undefined {
    const [oldest] = this.#held.values();
    if (!oldest) return undefined;
    const expiry = oldest.since + this.#settings.holdMs;
    return this.#wokenAt === undefined ? expiry : Math.min(expiry, this.#wokenAt + WAKE_AGAIN_MS);
  }

  heldRequests(): number {
    return this.#held.size;
  }

  inFlightRequests(): number {
    return this.#inFlight.size;
  }

  report(): QueueReport {
    const held = [...this.#held.values()];
    const requests = new Map<string, number>();
    for (const { worker } of this.#inFlight.values()) requests.set(worker, (requests.get(worker) ?? 0) + 1);
    return {
      arrivedWork: this.#arrivedWork,
      overestimatedWork: this.#overestimatedWork,
      refusedWork: this.#refusedWork,
      heldRequests: held.length,
      heldWork: held.reduce((sum, { work }) => sum + work, 0),
      workers: [...requests].map(([name, count]) => ({
        name,
        requests: count,
        work: this.#workOf.get(name) ?? 0,
      })),
    };
  }

  readyWorkers(): number {
    return this.#workers.filter(({ ready }) => ready).length;
  }

  #advance(now: number): readonly Effect[] {
    const effects: Effect[] = [];
    // In the order of arrival: the first that may still wait ends the search.
    for (const held of this.#held.values()) {
      if (now - held.since < this.#settings.holdMs) break;
      const message = 'No worker became free while the request waited (spec.gateway.hold).';
      effects.push(this.#refuse(held, 'hold_expired', message));
    }
    effects.push(...this.#picks(now), ...this.#refusedByBlock(), ...this.#wakes(now));
    return effects;
  }

  #picks(now: number): readonly Effect[] {
    const picks: Effect[] = [];
    for (const { id, work, since } of this.#held.values()) {
      const candidates = this.#candidates(now);
      const [worker] = candidates;
      if (worker === undefined) break;
      this.#held.delete(id);
      this.#inFlight.set(id, { work, worker });
      this.#workOf.set(worker, (this.#workOf.get(worker) ?? 0) + work);
      picks.push({ type: 'pick', id, candidates, waitMs: now - since });
    }
    return picks;
  }

  #candidates(now: number): readonly string[] {
    const order = this.#workers
      .filter(({ name, ready }) => ready && this.#accepts(name))
      .map(({ name }) => ({ name, work: this.#allWorkOf(name), shunned: this.#isShunned(name, now) }))
      .toSorted((one, other) => {
        if (one.shunned !== other.shunned) return one.shunned ? 1 : -1;
        return one.work - other.work || (one.name < other.name ? -1 : 1);
      });
    return order.slice(0, MAX_CANDIDATES).map(({ name }) => name);
  }

  #accepts(name: string): boolean {
    const { expectedPerf, maxQueueTimeMs } = this.#settings;
    if (expectedPerf === undefined || expectedPerf <= 0) return true;
    return (this.#allWorkOf(name) / expectedPerf) * 1000 <= maxQueueTimeMs;
  }

  #allWorkOf(name: string): number {
    return (this.#workOf.get(name) ?? 0) + (this.#others.get(name) ?? 0);
  }

  #isShunned(name: string, now: number): boolean {
    const failedAt = this.#failedAt.get(name);
    return failedAt !== undefined && now - failedAt < SHUNNED_MS;
  }

  /** Where a worker is ready they wait for it: it comes free. */
  #refusedByBlock(): readonly Effect[] {
    if (!this.#blocked || this.readyWorkers() > 0) return [];
    const { reason, message } = this.#blocked;
    return [...this.#held.values()].map((held) =>
      this.#refuse(held, 'workers_blocked', `${reason}: ${message}`),
    );
  }

  /** Work that is turned away was asked for all the same. */
  #refuse({ id, work }: Held, code: Refusal['code'], message: string): Effect {
    this.#held.delete(id);
    this.#refusedWork += work;
    const retryAfterSeconds = RETRY_AFTER_S[code];
    return { type: 'refuse', id, refusal: { status: 503, code, message, retryAfterSeconds } };
  }

  /** One for a burst: the next one when all of it was served or left, or nothing came of the first. */
  #wakes(now: number): readonly Effect[] {
    const isNeeded = this.#held.size > 0 && this.readyWorkers() === 0;
    if (!isNeeded) {
      this.#wokenAt = undefined;
      return [];
    }
    if (this.#wokenAt !== undefined && now - this.#wokenAt < WAKE_AGAIN_MS) return [];
    this.#wokenAt = now;
    return [{ type: 'wake' }];
  }
}

const RETRY_AFTER_S = { queue_full: 5, hold_expired: 10, workers_blocked: 60 } as const;
