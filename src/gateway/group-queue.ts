import type { MicroDollars } from '../lib/money.ts';
import { agreeing, counted } from '../lib/plural.ts';
import { type Charge, type Counted, type Held, HeldRequests, type Measure } from './held-requests.ts';
import { hashOf, SessionWorkers } from './session-workers.ts';
import { type DoneRequest, WorkerSpeed } from './worker-speed.ts';

/** A worker in the queue. */
export interface WorkerView {
  readonly name: string;
  /** False: it is draining, and gets no new request. */
  readonly ready: boolean;
  /** Undefined if it is unknown. */
  readonly pricePerHour?: MicroDollars | undefined;
}

/** Settings of a group's queue. */
export interface QueueSettings {
  readonly holdMs: number;
  readonly maxHeld: number;
  /** Maximum held requests of one caller; undefined: the maximum of all. */
  readonly maxHeldPerClient: number | undefined;
  /** Maximum memory of waiting requests. */
  readonly maxHeldBytes: number;
  /** Maximum time that a request may wait in a worker. */
  readonly maxQueueTimeMs: number;
  /**
   * Work per second of a worker without a measurement; undefined: the speed of the others, or no limit without any.
   */
  readonly expectedPerf: number | undefined;
}

/** Reason why no worker can be started. */
export interface Blocked {
  readonly reason: string;
  readonly message: string;
}

/** Facts about the other pickers of a group. */
export interface OtherPickers {
  readonly count: number;
  /** Work of the other pickers together on each worker, and the speed that one of them measured; by name. */
  readonly workers: ReadonlyMap<string, { readonly work: number; readonly perf?: number | undefined }>;
}

/** Facts from the operator about coming workers. */
export interface Prospect {
  /** Reason why no worker can be started; undefined while one can be. */
  readonly blocked: Blocked | undefined;
  /** True if workers boot or start. */
  readonly starts: boolean;
}

export interface Arrival {
  readonly id: string;
  /**
   * Units of work, 1 for a group that counts requests; left out if the body determines it: see {@link
   * GroupQueue.count}.
   */
  readonly work?: number | undefined;
  /** Maximum memory while it waits; 0 if absent. */
  readonly bytes?: number | undefined;
  /** Caller, for the order of turns; left out if all requests share one. */
  readonly caller?: string | undefined;
  /** Session whose requests go to one worker; left out if any worker may be picked. */
  readonly session?: string | undefined;
  /** Names of the only workers that may be picked; left out if any may. */
  readonly subset?: readonly string[] | undefined;
}

/** A request without work, such as a health check: it waits for no worker, starts none and is no load. */
export type QuietArrival = Pick<Arrival, 'id' | 'caller' | 'session' | 'subset'>;

const REFUSALS = {
  queue_full: { status: 503, retryAfterSeconds: 5 },
  hold_expired: { status: 503, retryAfterSeconds: 10 },
  workers_blocked: { status: 503, retryAfterSeconds: 60 },
  no_endpoint_in_subset: { status: 503, retryAfterSeconds: 5 },
  no_worker_ready: { status: 503, retryAfterSeconds: 10 },
  body_timeout: { status: 408, retryAfterSeconds: 1 },
} as const;

/** A refusal of the picker, by its code in the body. */
export interface Refusal {
  readonly status: 503 | 408;
  readonly code: keyof typeof REFUSALS;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** Effect of an event. */
export type Effect =
  /** `candidates`: names of workers, the best first. */
  | {
      readonly type: 'pick';
      readonly id: string;
      readonly candidates: readonly string[];
      readonly waitMs: number;
    }
  | { readonly type: 'refuse'; readonly id: string; readonly refusal: Refusal }
  /** A request waits and no worker is ready: a worker must be started. */
  | { readonly type: 'wake' };

/** End of a request that had a worker. */
export interface Ending {
  /** Worker that served it last; undefined if none was reached. */
  readonly worker: string | undefined;
  /** A worker that was tried and failed: it answered 5xx or could not be reached. */
  readonly failed: boolean;
  /** Failure as text. */
  readonly failure?: string | undefined;
  /** False if it was refused or interrupted: its duration does not show the worker's speed. */
  readonly isComplete?: boolean | undefined;
  /** Final units of work; left out if they equal the estimate at its arrival. */
  readonly work?: number | undefined;
}

/** Work of a group in the operator's form: see `GatewayReport`. Counters begin at 0 with this queue. */
export interface QueueReport {
  readonly arrivedWork: number;
  readonly overestimatedWork: number;
  readonly refusedWork: number;
  readonly heldRequests: number;
  readonly heldWork: number;
  /** Workers that have requests, that fail, or whose speed was measured. */
  readonly workers: readonly {
    readonly name: string;
    readonly requests: number;
    readonly work: number;
    /** Measured units of work per second. */
    readonly perf?: number;
    /** Reason why requests to it fail. */
    readonly failing?: string;
  }[];
}

interface InFlight {
  readonly isQuiet: boolean;
  readonly work: number;
  readonly worker: string;
  readonly since: number;
  readonly charge: Charge;
}

/** Time limit, from the headers on, for the part of a body that determines the work. */
const BODY_DEADLINE_MS = 30_000;
/** Work of a request without work, for the limit of its worker. */
const QUIET_WORK = 1;
/** The first choice, and two for retries. */
const MAX_CANDIDATES = 3;
/** Time for which a failed worker comes last. */
const SHUNNED_MS = 10_000;
/** Time during which the share of a worker grows, after a failure or after it became ready. */
const SLOW_START_MS = 30_000;
/** Share at the beginning. */
const FIRST_SHARE = 0.1;
/**
 * Interval at which a wake is repeated while requests wait and no worker is ready or starts: the first start may have
 * failed.
 */
const WAKE_AGAIN_MS = 30_000;

/** A worker with its requests. */
interface WorkerState {
  readonly name: string;
  readonly hash: number;
  readonly speed: WorkerSpeed;
  /** Work from this picker. */
  requests: number;
  work: number;
  /** Number of its `requests` without work. */
  quiet: number;
  /** Last known work from other pickers, work from this one at that time, and the speed that they measured. */
  others: number;
  sharedWork: number;
  othersPerf: number | undefined;
  isReady: boolean;
  isListed: boolean;
  /** Start of the growth of its share. */
  startsAt: number;
  failure: { readonly at: number; readonly why: string } | undefined;
}

interface Choice {
  readonly worker: WorkerState;
  readonly isShunned: boolean;
  readonly wait: number;
}

/**
 * The requests of one group: each gets a worker, or waits until one accepts it. Callers take turns by the work that was
 * served to them, and requests of one caller keep the order of arrival. Pure: the time is an argument, in milliseconds,
 * and each event returns its effects.
 *
 * A worker accepts a request if it finishes all its work, from all pickers, within `maxQueueTime`. The queue picks the
 * worker that will finish the request first, by measured or expected speed; of equal ones the cheapest, then the first
 * by name. A worker that became ready counts as slower for 30 s, less so over time. One that failed within 10 s comes
 * last, is still picked if there is no other, and also starts slowly. A session stays on its worker while that accepts
 * and does not fail; else it moves to the picked one. For a request that may only go to some workers, all of this
 * applies among those.
 */
export class GroupQueue {
  #settings: QueueSettings;
  /** Present workers, and removed ones that still have requests. */
  readonly #workers = new Map<string, WorkerState>();
  /** Workers in the order in which equal ones are picked. */
  #ready: readonly WorkerState[] = [];
  #prospect: Prospect = { blocked: undefined, starts: false };
  readonly #held = new HeldRequests();
  readonly #sessions = new SessionWorkers();
  readonly #inFlight = new Map<string, InFlight>();
  #others: OtherPickers = { count: 0, workers: new Map() };
  /** Speed of workers without a measurement. */
  #typicalPerf: number | undefined;
  #arrivedWork = 0;
  #overestimatedWork = 0;
  #refusedWork = 0;
  #wokenAt: number | undefined;

  constructor(settings: QueueSettings) {
    this.#settings = settings;
    this.#setTypicalPerf();
  }

  configure(settings: QueueSettings, now: number): readonly Effect[] {
    this.#settings = settings;
    this.#setTypicalPerf();
    return this.#advanceAll(now);
  }

  setWorkers(workers: readonly WorkerView[], now: number): readonly Effect[] {
    const former = new Map(this.#workers);
    this.#workers.clear();
    for (const { name, ready } of workers) {
      const state = former.get(name);
      former.delete(name);
      this.#workers.set(name, this.#listed(name, state, ready, now));
    }
    for (const [name, state] of former) {
      if (state.requests > 0) this.#workers.set(name, { ...state, isReady: false, isListed: false });
    }
    const prices = new Map(
      workers.map(({ name, pricePerHour = Number.POSITIVE_INFINITY }) => [name, pricePerHour]),
    );
    const priceOf = ({ name }: WorkerState) => prices.get(name) ?? 0;
    this.#ready = [...this.#workers.values()]
      .filter(({ isReady }) => isReady)
      .toSorted((one, other) => {
        if (priceOf(one) !== priceOf(other)) return priceOf(one) < priceOf(other) ? -1 : 1;
        return one.name < other.name ? -1 : 1;
      });
    this.#setTypicalPerf();
    return this.#advanceAll(now);
  }

  setProspect(prospect: Prospect, now: number): readonly Effect[] {
    this.#prospect = prospect;
    return this.#advance(now);
  }

  /** Sets the facts about other pickers: they share the limits of a worker. */
  setOthers(others: OtherPickers, now: number): readonly Effect[] {
    this.#others = others;
    for (const worker of this.#workers.values()) {
      pass(worker, now);
      const shared = others.workers.get(worker.name);
      worker.others = shared?.work ?? 0;
      worker.othersPerf = shared?.perf;
      worker.sharedWork = worker.work;
    }
    this.#setTypicalPerf();
    return this.#advanceAll(now);
  }

  /** Adds a request at its headers; it counts while its body is read, so a body that never ends occupies a place. */
  arrive({ id, work, bytes = 0, caller = '', session, subset }: Arrival, now: number): readonly Effect[] {
    this.#held.add({ ...{ id, work, bytes, since: now }, ...{ caller, session, subset } });
    this.#arrivedWork += work ?? 0;
    return [...this.#advance(now), ...this.#overflow(id, caller)];
  }

  /** Sets the work of a request after its body was read: it now waits for a worker. Ignores a request that has left. */
  count(id: string, work: number, now: number): readonly Effect[] {
    if (!this.#held.count(id, work)) return [];
    this.#arrivedWork += work;
    return this.#advance(now);
  }

  /** Picks a worker for a request without work, or refuses it: it never waits. */
  arriveQuietly({ id, caller = '', session, subset }: QuietArrival, now: number): readonly Effect[] {
    const held = { id, work: QUIET_WORK, bytes: 0, since: now, caller, session, subset };
    const choices = this.#choicesFor(held, now);
    if (choices.length === 0) return [refusalOf(id, 'no_worker_ready', NO_WORKER)];
    return [this.#pick(held, choices, { charge: { caller, contest: -1 }, isQuiet: true, now })];
  }

  /** Returns the memory of all waiting requests. */
  heldBytes(): number {
    return this.#held.bytes;
  }

  /** Refuses the newest request of the caller with the most memory. */
  shed(message: string): readonly Effect[] {
    const refused = this.#held.mostOf(undefined, 'bytes');
    return refused ? [this.#refuse(refused, 'queue_full', message)] : [];
  }

  /** Removes a held request whose client disconnected. Returns false if it was not held. */
  leave(id: string): boolean {
    const held = this.#held.remove(id);
    if (!held) return false;
    this.#overestimatedWork += held.work ?? 0;
    if (this.#held.ready === 0) this.#wokenAt = undefined;
    return true;
  }

  /** Records the end of a request that had a worker, and corrects its estimated work to the real one. */
  end(id: string, ending: Ending, now: number): readonly Effect[] {
    const one = this.#inFlight.get(id);
    if (!one) return [];
    this.#inFlight.delete(id);
    const work = ending.work ?? one.work;
    const excess = one.work - work;
    if (excess > 0) this.#overestimatedWork += excess;
    else this.#arrivedWork -= excess;
    this.#held.correct(one.charge, -excess);
    this.#judge(one.worker, ending, now);
    const worker = this.#workers.get(one.worker);
    if (!worker) return this.#advance(now);
    this.#release(worker, one, now);
    if (isDoneBy(worker.name, ending)) this.#measure(worker, { work, tookMs: now - one.since }, now);
    const effects = this.#advance(now);
    this.#rest(worker);
    return effects;
  }

  tick(now: number): readonly Effect[] {
    return this.#advance(now);
  }

  /** Returns the time at which {@link tick} is due; undefined while no request waits. */
  nextAt(): number | undefined {
    const oldest = this.#held.oldest();
    if (!oldest) return undefined;
    const reading = this.#held.oldestReading();
    const deadline = reading ? reading.since + BODY_DEADLINE_MS : Number.POSITIVE_INFINITY;
    const expiry = Math.min(deadline, oldest.since + this.#settings.holdMs);
    return this.#wokenAt === undefined ? expiry : Math.min(expiry, this.#wokenAt + WAKE_AGAIN_MS);
  }

  heldRequests(): number {
    return this.#held.size;
  }

  inFlightRequests(): number {
    return this.#inFlight.size;
  }

  report(now: number): QueueReport {
    const workers = [...this.#workers.values()].flatMap((worker) => {
      const { name, speed, failure } = worker;
      const requests = worker.requests - worker.quiet;
      const work = worker.work - worker.quiet * QUIET_WORK;
      const perf = speed.perf();
      const isFailing = isShunned(worker, now);
      if (requests === 0 && perf === undefined && !isFailing) return [];
      return [
        {
          ...{ name, requests, work },
          ...(perf !== undefined && { perf }),
          ...(isFailing && failure && { failing: failure.why }),
        },
      ];
    });
    return {
      arrivedWork: this.#arrivedWork,
      overestimatedWork: this.#overestimatedWork,
      refusedWork: this.#refusedWork,
      heldRequests: this.#held.ready,
      heldWork: this.#held.work(),
      workers,
    };
  }

  readyWorkers(): number {
    return this.#ready.length;
  }

  /** Updates a listed worker. One that comes back may have another machine, so its old measurements are dropped. */
  #listed(name: string, state: WorkerState | undefined, isReady: boolean, now: number): WorkerState {
    const isKnown = state?.isListed === true;
    const startsAt = isKnown && (state.isReady || !isReady) ? state.startsAt : now;
    if (isKnown) return { ...state, isReady, startsAt };
    const { requests = 0, work = 0, quiet = 0 } = state ?? {};
    const { work: others = 0, perf: othersPerf } = this.#others.workers.get(name) ?? {};
    return {
      ...{ name, hash: hashOf(name), requests, work, quiet, others, othersPerf, isReady, startsAt },
      ...{ speed: new WorkerSpeed(), sharedWork: work, isListed: true, failure: undefined },
    };
  }

  /** Marks a worker as failing, or as recovered, by the end of a request. */
  #judge(chosen: string, ending: Ending, now: number): void {
    const { worker, failed, failure = 'a request to it failed' } = ending;
    if (failed) this.#fail(worker ?? chosen, failure, now);
    // If another worker served the retry, the first choice has failed as well.
    else if (worker !== undefined && worker !== chosen)
      this.#fail(chosen, 'another worker had to replace it', now);
    else if (worker === chosen) this.#recover(chosen, now);
  }

  #fail(name: string, why: string, now: number): void {
    const worker = this.#workers.get(name);
    if (!worker?.isListed) return;
    worker.failure = { at: now, why };
    worker.startsAt = now + SHUNNED_MS;
    worker.speed.fail();
  }

  #recover(name: string, now: number): void {
    const worker = this.#workers.get(name);
    if (!worker) return;
    worker.failure = undefined;
    worker.startsAt = Math.min(worker.startsAt, now);
  }

  #release(worker: WorkerState, { work, isQuiet }: InFlight, now: number): void {
    pass(worker, now);
    worker.requests -= 1;
    worker.quiet -= isQuiet ? 1 : 0;
    // Sums of fractions leave a remainder.
    worker.work = worker.requests === 0 ? 0 : Math.max(0, worker.work - work);
    if (worker.requests === 0 && !worker.isListed) this.#workers.delete(worker.name);
  }

  #measure({ speed }: WorkerState, request: DoneRequest, now: number): void {
    if (speed.done(request, this.#settings.maxQueueTimeMs, now)) this.#setTypicalPerf();
  }

  #setTypicalPerf(): void {
    const { expectedPerf } = this.#settings;
    const isExpected = expectedPerf !== undefined && expectedPerf > 0;
    const measured = isExpected
      ? []
      : [...this.#workers.values()].flatMap((worker) =>
          worker.isListed ? (measuredPerf(worker) ?? []) : [],
        );
    const mean = measured.reduce((sum, perf) => sum + perf, 0) / measured.length;
    this.#typicalPerf = isExpected ? expectedPerf : measured.length > 0 ? mean : undefined;
  }

  /**
   * Gives waiting requests to workers after a change that may affect all of them, and updates the measurement of each.
   */
  #advanceAll(now: number): readonly Effect[] {
    const effects = this.#advance(now);
    for (const worker of this.#workers.values()) this.#rest(worker);
    return effects;
  }

  #rest(worker: WorkerState): void {
    const { requests, speed } = worker;
    const isFull = this.#perfOf(worker) === undefined ? undefined : !this.#accepts(worker);
    speed.rest({ requests, work: knownWorkOf(worker), isFull });
  }

  /**
   * Refuses a request if a limit is exceeded: a request of the caller with the most requests, so that this caller
   * does not block the others.
   */
  #overflow(id: string, caller: string): readonly Effect[] {
    const { maxHeld, maxHeldPerClient = maxHeld, maxHeldBytes } = this.#settings;
    const own = this.#held.countOf(caller);
    if (own > maxHeldPerClient && maxHeldPerClient < maxHeld && this.#held.has(id))
      return this.#refuseMost(
        id,
        'requests',
        `${counted(maxHeldPerClient, 'request')} of this client ${agreeing(maxHeldPerClient, 'waits', 'wait')} (spec.gateway.maxHeldPerClient).`,
      );
    if (this.#held.size > maxHeld)
      return this.#refuseMost(
        id,
        'requests',
        `${counted(maxHeld, 'request')} ${agreeing(maxHeld, 'waits', 'wait')}, as many as spec.gateway.maxHeld allows.`,
      );
    const refused: Effect[] = [];
    while (this.#held.bytes > maxHeldBytes) {
      const message = 'Waiting requests use all of spec.gateway.maxHeldBytes.';
      refused.push(...this.#refuseMost(id, 'bytes', message));
    }
    return refused;
  }

  #refuseMost(id: string, measure: Measure, message: string): readonly Effect[] {
    const refused = this.#held.mostOf(id, measure);
    return refused ? [this.#refuse(refused, 'queue_full', message)] : [];
  }

  #advance(now: number): readonly Effect[] {
    const effects: Effect[] = [];
    for (;;) {
      const reading = this.#held.oldestReading();
      if (!reading || now - reading.since < BODY_DEADLINE_MS) break;
      effects.push(this.#refuse(reading, 'body_timeout', LATE_BODY));
    }
    for (;;) {
      const oldest = this.#held.oldest();
      if (!oldest || now - oldest.since < this.#settings.holdMs) break;
      const message = 'No worker became free while the request waited (spec.gateway.hold).';
      effects.push(this.#refuse(oldest, 'hold_expired', message));
    }
    effects.push(...this.#refusedBySubset(), ...this.#picks(now));
    effects.push(...this.#refusedByBlock(), ...this.#wakes(now));
    return effects;
  }

  #picks(now: number): readonly Effect[] {
    const picks: Effect[] = [];
    while (this.#held.size > 0) {
      const held = this.#held.next((subset) => this.#within(subset).some((worker) => this.#accepts(worker)));
      const choices = held ? this.#choicesFor(held, now) : [];
      if (!held || choices.length === 0) break;
      picks.push(this.#pick(held, choices, { charge: this.#held.serve(held), isQuiet: false, now }));
    }
    return picks;
  }

  /** Gives a request to the first of these workers. */
  #pick(
    { id, work, since, session }: Counted,
    choices: readonly WorkerState[],
    { charge, isQuiet, now }: { readonly charge: Charge; readonly isQuiet: boolean; readonly now: number },
  ): Effect {
    const [worker] = choices;
    if (worker) {
      this.#inFlight.set(id, { isQuiet, work, worker: worker.name, since: now, charge });
      pass(worker, now);
      worker.requests += 1;
      worker.quiet += isQuiet ? 1 : 0;
      worker.work += work;
      if (session !== undefined) this.#sessions.set(session, worker.name);
    }
    return { type: 'pick', id, candidates: choices.map(({ name }) => name), waitMs: now - since };
  }

  /** Returns the ready workers that a request may go to. */
  #within(subset: readonly string[] | undefined): readonly WorkerState[] {
    return subset ? this.#ready.filter(({ name }) => subset.includes(name)) : this.#ready;
  }

  #choicesFor({ work, session, subset }: Counted, now: number): readonly WorkerState[] {
    const ready = this.#within(subset);
    const choices = this.#choices(ready, work, now);
    const own = session === undefined ? undefined : this.#sessions.of(session, ready);
    if (!own || !this.#accepts(own) || isShunned(own, now)) return choices;
    return [own, ...choices.filter((worker) => worker !== own)].slice(0, MAX_CANDIDATES);
  }

  /** Returns the best candidates for a request, the best first. */
  #choices(ready: readonly WorkerState[], work: number, now: number): readonly WorkerState[] {
    const best: Choice[] = [];
    for (const worker of ready) {
      if (!this.#accepts(worker)) continue;
      const choice = { worker, isShunned: isShunned(worker, now), wait: this.#waitOf(worker, work, now) };
      const place = best.findIndex((other) => isBetter(choice, other));
      if (place >= 0) best.splice(place, 0, choice);
      else best.push(choice);
      if (best.length > MAX_CANDIDATES) best.pop();
    }
    return best.map(({ worker }) => worker);
  }

  #accepts(worker: WorkerState): boolean {
    const perf = this.#perfOf(worker);
    if (perf === undefined) return true;
    const limit = (perf * this.#settings.maxQueueTimeMs) / 1000;
    return this.#allWorkOf(worker) <= limit || this.#isWithinPart(worker, limit);
  }

  /**
   * Returns true if a picker uses less than its share of a full worker. It then adds one request at each exchange of
   * the pickers, and pickers with more add none until the limit is met again. Otherwise the first picker would block
   * the others.
   */
  #isWithinPart({ work, sharedWork }: WorkerState, limit: number): boolean {
    return work <= Math.min(sharedWork, limit / (this.#others.count + 1));
  }

  /**
   * Returns the seconds until a worker has finished its work and this request; the amount of work if no speed is
   * known.
   */
  #waitOf(worker: WorkerState, work: number, now: number): number {
    const perf = this.#perfOf(worker) ?? 1;
    return (this.#allWorkOf(worker) + work) / (perf * shareOf(worker, now));
  }

  /**
   * Returns the work of a worker from all pickers. Each other picker is assumed to have added as much as this one since
   * its last report, so all of them together keep the limit, even if requests reach all of them at once.
   */
  #allWorkOf(worker: WorkerState): number {
    const given = Math.max(0, worker.work - worker.sharedWork);
    return knownWorkOf(worker) + given * this.#others.count;
  }

  #perfOf(worker: WorkerState): number | undefined {
    return measuredPerf(worker) ?? this.#typicalPerf;
  }

  /** Refuses requests whose workers are all gone: a newly started worker would not be among their allowed ones. */
  #refusedBySubset(): readonly Effect[] {
    if (this.#held.subsets().every((subset) => this.#within(subset).length > 0)) return [];
    const outside = this.#held.all().filter(({ subset }) => subset && this.#within(subset).length === 0);
    return outside.map((held) => this.#refuse(held, 'no_endpoint_in_subset', OUTSIDE_SUBSET));
  }

  /** Refuses requests if no worker can be started. If one is ready they wait for it. */
  #refusedByBlock(): readonly Effect[] {
    const { blocked } = this.#prospect;
    if (!blocked || this.readyWorkers() > 0) return [];
    const { reason, message } = blocked;
    return this.#held.all().map((held) => this.#refuse(held, 'workers_blocked', `${reason}: ${message}`));
  }

  /** Refuses a request. Its work still counts as demand, unless no other worker could do it. */
  #refuse({ id, work = 0 }: Held, code: Refusal['code'], message: string): Effect {
    this.#held.remove(id);
    if (code === 'no_endpoint_in_subset') this.#overestimatedWork += work;
    else this.#refusedWork += work;
    return refusalOf(id, code, message);
  }

  /**
   * Returns a wake for the operator if no worker is ready: once for a burst, and again after a while if requests still
   * wait and no worker starts.
   */
  #wakes(now: number): readonly Effect[] {
    const isNeeded = this.#held.ready > 0 && this.readyWorkers() === 0;
    if (!isNeeded) {
      this.#wokenAt = undefined;
      return [];
    }
    if (this.#wokenAt !== undefined && now - this.#wokenAt < WAKE_AGAIN_MS) return [];
    const isRepeated = this.#wokenAt !== undefined;
    this.#wokenAt = now;
    // The first wake already requested the starting workers: machines boot for minutes.
    return isRepeated && this.#prospect.starts ? [] : [{ type: 'wake' }];
  }
}

function isBetter(one: Choice, other: Choice): boolean {
  return one.isShunned === other.isShunned ? one.wait < other.wait : other.isShunned;
}

function knownWorkOf({ work, others }: WorkerState): number {
  return work + others;
}

/** Records the time until now for a worker's present work, which is about to change. */
function pass(worker: WorkerState, now: number): void {
  const all = knownWorkOf(worker);
  worker.speed.pass({ share: all > 0 ? worker.work / all : 1, requests: worker.requests }, now);
}

/**
 * Returns the speed that this picker or another one measured: a picker with few requests there measures nothing, or
 * too little.
 */
function measuredPerf({ speed, othersPerf }: WorkerState): number | undefined {
  const own = speed.perf();
  return own === undefined || othersPerf === undefined ? (own ?? othersPerf) : Math.max(own, othersPerf);
}

/** Returns true if the picked worker finished the request, so that its duration shows the worker's speed. */
function isDoneBy(name: string, { worker, failed, isComplete = true }: Ending): boolean {
  return isComplete && !failed && worker === name;
}

function isShunned({ failure }: WorkerState, now: number): boolean {
  return failure !== undefined && now - failure.at < SHUNNED_MS;
}

/** Returns the share of its speed that counts for a worker. */
function shareOf({ startsAt }: WorkerState, now: number): number {
  return Math.min(1, Math.max(FIRST_SHARE, (now - startsAt) / SLOW_START_MS));
}

const OUTSIDE_SUBSET =
  'None of the endpoints that the proxy allows is a worker of this group that takes requests.';
const LATE_BODY = 'The body did not arrive within 30 s of its headers.';
const NO_WORKER =
  'No worker is ready, and a request such as this one wakes none (spec.gateway.quietPaths, HEAD and OPTIONS).';

function refusalOf(id: string, code: Refusal['code'], message: string): Effect {
  return { type: 'refuse', id, refusal: { ...REFUSALS[code], code, message } };
}
