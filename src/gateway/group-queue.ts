import type { MicroDollars } from '../lib/money.ts';
import { agreeing, counted } from '../lib/plural.ts';
import { type Charge, type Counted, type Held, HeldRequests, type Measure } from './held-requests.ts';
import { hashOf, SessionWorkers } from './session-workers.ts';
import { type DoneRequest, WorkerSpeed } from './worker-speed.ts';

/** A worker as the queue sees it. */
export interface WorkerView {
  readonly name: string;
  /** False: it finishes what it has, and gets nothing new. */
  readonly ready: boolean;
  /** Undefined where it is not known. */
  readonly pricePerHour?: MicroDollars | undefined;
}

/** How requests of a group wait. */
export interface QueueSettings {
  readonly holdMs: number;
  readonly maxHeld: number;
  /** Of one caller; undefined: as many as of all. */
  readonly maxHeldPerClient: number | undefined;
  /** Memory that requests which wait may take. */
  readonly maxHeldBytes: number;
  /** The longest that a request may wait in a worker. */
  readonly maxQueueTimeMs: number;
  /** Work per second of a worker that was not measured; undefined: what the others do, and without any no limit. */
  readonly expectedPerf: number | undefined;
}

/** Why no worker can be started. */
export interface Blocked {
  readonly reason: string;
  readonly message: string;
}

/** What is known of the other pickers of a group. */
export interface OtherPickers {
  readonly count: number;
  /** What workers have through them, together, and the speed that one of them has measured; by name. */
  readonly workers: ReadonlyMap<string, { readonly work: number; readonly perf?: number | undefined }>;
}

/** What the operator says of workers that are to come. */
export interface Prospect {
  /** Why none can be started; undefined while one can. */
  readonly blocked: Blocked | undefined;
  /** Some boot or wake. */
  readonly starts: boolean;
}

export interface Arrival {
  readonly id: string;
  /** Units of work, 1 for a group that counts requests; left out if its body says it: see {@link GroupQueue.count}. */
  readonly work?: number | undefined;
  /** Memory that it takes while it waits, at most; 0 if absent. */
  readonly bytes?: number | undefined;
  /** Callers take turns; left out where all are one. */
  readonly caller?: string | undefined;
  /** Requests of one session go to one worker; left out where it may be any. */
  readonly session?: string | undefined;
  /** Workers that it may go to, by name; left out where it may go to any. */
  readonly subset?: readonly string[] | undefined;
}

/** A request that asks for no work: it waits for no worker, wakes none and is no load. */
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
  /** What it did instead, for people. */
  readonly failure?: string | undefined;
  /** False where it was refused or broken off: how long that took says nothing of the worker's speed. */
  readonly isComplete?: boolean | undefined;
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
  /** Those that have requests, that fail, or whose speed was measured. */
  readonly workers: readonly {
    readonly name: string;
    readonly requests: number;
    readonly work: number;
    /** Units of work per second, where it was measured. */
    readonly perf?: number;
    /** Why requests to it fail, where they do. */
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

/** Time for the part of a body that says what its request counts as, from its headers on. */
const BODY_DEADLINE_MS = 30_000;
/** What a request that asks for no work counts as in the limit of its worker. */
const QUIET_WORK = 1;
/** The first choice, and two for retries. */
const MAX_CANDIDATES = 3;
/** A worker that failed comes after all others for so long. */
const SHUNNED_MS = 10_000;
/** From then on, and from when it became ready, its share of the requests grows for so long. */
const SLOW_START_MS = 30_000;
/** What it begins with. */
const FIRST_SHARE = 0.1;
/** Where requests still wait and no worker is ready or starts, the wake is repeated: what was started may have failed. */
const WAKE_AGAIN_MS = 30_000;

/** A worker with what it has. */
interface WorkerState {
  readonly name: string;
  readonly hash: number;
  readonly speed: WorkerSpeed;
  /** From this picker. */
  requests: number;
  work: number;
  /** Those of `requests` that ask for no work. */
  quiet: number;
  /** Work that it had from other pickers when that was last known, from this one then, and the speed that they measured. */
  others: number;
  sharedWork: number;
  othersPerf: number | undefined;
  isReady: boolean;
  isListed: boolean;
  /** From when on its share grows. */
  startsAt: number;
  failure: { readonly at: number; readonly why: string } | undefined;
}

interface Choice {
  readonly worker: WorkerState;
  readonly isShunned: boolean;
  readonly wait: number;
}

/**
 * The requests of one group: each is given a worker, or waits until one accepts it. Callers take turns by the work that
 * was served to them, and requests of one caller go in the order of arrival. Pure: the time is an argument, in milliseconds,
 * and each event returns what is to be done.
 *
 * A worker accepts a request if the work that it has, from all pickers, is done within `maxQueueTime`. The one that has
 * done the request first is taken, by the speed that was measured or is expected; of equal ones the cheapest, then the
 * first by name. One that became ready counts as slower for 30 s, the less so the longer it is. One that failed within
 * 10 s comes last, is still taken before nothing, and begins slowly as well. A session goes to its worker while that
 * accepts and does not fail, else to the one that is taken, which is its worker from then on. Of a request that may go to
 * some workers only all of this holds among those.
 */
export class GroupQueue {
  #settings: QueueSettings;
  /** Those that are there, and those that are gone and still have requests. */
  readonly #workers = new Map<string, WorkerState>();
  /** In the order in which equal ones are taken. */
  #ready: readonly WorkerState[] = [];
  #prospect: Prospect = { blocked: undefined, starts: false };
  readonly #held = new HeldRequests();
  readonly #sessions = new SessionWorkers();
  readonly #inFlight = new Map<string, InFlight>();
  #others: OtherPickers = { count: 0, workers: new Map() };
  /** Of workers that were not measured. */
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

  /** What is known of other pickers from now on: the limits of a worker are shared. */
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

  /** Counts from its headers on, also while its body is read: a body that never ends takes a place. */
  arrive({ id, work, bytes = 0, caller = '', session, subset }: Arrival, now: number): readonly Effect[] {
    this.#held.add({ ...{ id, work, bytes, since: now }, ...{ caller, session, subset } });
    this.#arrivedWork += work ?? 0;
    return [...this.#advance(now), ...this.#overflow(id, caller)];
  }

  /** The body of a request was read: it waits for a worker from now on. Of one that is gone nothing is done. */
  count(id: string, work: number, now: number): readonly Effect[] {
    if (!this.#held.count(id, work)) return [];
    this.#arrivedWork += work;
    return this.#advance(now);
  }

  /** A request that asks for no work gets a worker now or never. */
  arriveQuietly({ id, caller = '', session, subset }: QuietArrival, now: number): readonly Effect[] {
    const held = { id, work: QUIET_WORK, bytes: 0, since: now, caller, session, subset };
    const choices = this.#choicesFor(held, now);
    if (choices.length === 0) return [refusalOf(id, 'no_worker_ready', NO_WORKER)];
    return [this.#pick(held, choices, { charge: { caller, contest: -1 }, isQuiet: true, now })];
  }

  /** Memory of all requests that wait. */
  heldBytes(): number {
    return this.#held.bytes;
  }

  /** Refuses the newest request of the caller whose requests take most memory. */
  shed(message: string): readonly Effect[] {
    const refused = this.#held.mostOf(undefined, 'bytes');
    return refused ? [this.#refuse(refused, 'queue_full', message)] : [];
  }

  /** The client left while its request was held. False where it was not. */
  leave(id: string): boolean {
    const held = this.#held.remove(id);
    if (!held) return false;
    this.#overestimatedWork += held.work ?? 0;
    if (this.#held.ready === 0) this.#wokenAt = undefined;
    return true;
  }

  /** A request that was picked for has ended. What it was estimated at is corrected to what it was, up or down. */
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

  /** When {@link tick} is due; undefined while nothing waits. */
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

  /** A worker that comes back may have another machine: what was known of it is forgotten. */
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

  /** Whether what came of a request says that a worker fails, or that it does so no more. */
  #judge(chosen: string, ending: Ending, now: number): void {
    const { worker, failed, failure = 'a request to it failed' } = ending;
    if (failed) this.#fail(worker ?? chosen, failure, now);
    // A first choice that another one had to stand in for has failed as well.
    else if (worker !== undefined && worker !== chosen)
      this.#fail(chosen, 'another worker had to stand in for it', now);
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
    // Sums of fractions leave a rest.
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

  /** After what may change all workers. */
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

  /** A caller that sends much does not keep the others out. */
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
      const message = 'Requests that wait take all of spec.gateway.maxHeldBytes.';
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

  /** Those that are ready and that a request may go to. */
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

  /** The best few of those that accept a request, the best first. */
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
   * Whether a picker has less than its part of a full worker: then it takes one more each time that the pickers learn of each
   * other, and those that have more take none until the limit is kept again. Who came first would keep the others out.
   */
  #isWithinPart({ work, sharedWork }: WorkerState, limit: number): boolean {
    return work <= Math.min(sharedWork, limit / (this.#others.count + 1));
  }

  /** Seconds until it has done what it has and this as well; by work alone where no speed is known. */
  #waitOf(worker: WorkerState, work: number, now: number): number {
    const perf = this.#perfOf(worker) ?? 1;
    return (this.#allWorkOf(worker) + work) / (perf * shareOf(worker, now));
  }

  /**
   * What a worker has from all pickers. Each of the others is taken to have given it as much as this one since their work
   * was known: so all of them together keep its limit, also when requests come to all of them at once.
   */
  #allWorkOf(worker: WorkerState): number {
    const given = Math.max(0, worker.work - worker.sharedWork);
    return knownWorkOf(worker) + given * this.#others.count;
  }

  #perfOf(worker: WorkerState): number | undefined {
    return measuredPerf(worker) ?? this.#typicalPerf;
  }

  /** A worker that is started would be none of theirs. */
  #refusedBySubset(): readonly Effect[] {
    if (this.#held.subsets().every((subset) => this.#within(subset).length > 0)) return [];
    const outside = this.#held.all().filter(({ subset }) => subset && this.#within(subset).length === 0);
    return outside.map((held) => this.#refuse(held, 'no_endpoint_in_subset', OUTSIDE_SUBSET));
  }

  /** Where a worker is ready they wait for it: it comes free. */
  #refusedByBlock(): readonly Effect[] {
    const { blocked } = this.#prospect;
    if (!blocked || this.readyWorkers() > 0) return [];
    const { reason, message } = blocked;
    return this.#held.all().map((held) => this.#refuse(held, 'workers_blocked', `${reason}: ${message}`));
  }

  /** Work that is turned away was asked for all the same, but not that which no other worker might do. */
  #refuse({ id, work = 0 }: Held, code: Refusal['code'], message: string): Effect {
    this.#held.remove(id);
    if (code === 'no_endpoint_in_subset') this.#overestimatedWork += work;
    else this.#refusedWork += work;
    return refusalOf(id, code, message);
  }

  /** One for a burst: the next one when all of it was served or left, or nothing came of the first. */
  #wakes(now: number): readonly Effect[] {
    const isNeeded = this.#held.ready > 0 && this.readyWorkers() === 0;
    if (!isNeeded) {
      this.#wokenAt = undefined;
      return [];
    }
    if (this.#wokenAt !== undefined && now - this.#wokenAt < WAKE_AGAIN_MS) return [];
    const isRepeated = this.#wokenAt !== undefined;
    this.#wokenAt = now;
    // What starts was asked for by the first wake: machines boot for minutes.
    return isRepeated && this.#prospect.starts ? [] : [{ type: 'wake' }];
  }
}

function isBetter(one: Choice, other: Choice): boolean {
  return one.isShunned === other.isShunned ? one.wait < other.wait : other.isShunned;
}

function knownWorkOf({ work, others }: WorkerState): number {
  return work + others;
}

/** Counts the time until now for the work that a worker has had; it is about to change. */
function pass(worker: WorkerState, now: number): void {
  const all = knownWorkOf(worker);
  worker.speed.pass({ share: all > 0 ? worker.work / all : 1, requests: worker.requests }, now);
}

/** By this picker or another one: who has little there measures nothing, or too little. */
function measuredPerf({ speed, othersPerf }: WorkerState): number | undefined {
  const own = speed.perf();
  return own === undefined || othersPerf === undefined ? (own ?? othersPerf) : Math.max(own, othersPerf);
}

/** Whether a request was done by the worker that it was given to, so that it tells of its speed. */
function isDoneBy(name: string, { worker, failed, isComplete = true }: Ending): boolean {
  return isComplete && !failed && worker === name;
}

function isShunned({ failure }: WorkerState, now: number): boolean {
  return failure !== undefined && now - failure.at < SHUNNED_MS;
}

/** The part of its speed that a worker counts with. */
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
