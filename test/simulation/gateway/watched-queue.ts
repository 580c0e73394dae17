import {
  type Arrival,
  type Blocked,
  type Effect,
  type Ending,
  GroupQueue,
  type OtherPickers,
  type QueueSettings,
  type WorkerView,
} from '../../../src/gateway/group-queue.ts';

/** A promise of the queue that did not hold. */
export class BrokenPromise extends Error {
  readonly invariant: string;

  constructor(invariant: string, detail: string) {
    super(`${invariant}: ${detail}`);
    this.name = 'BrokenPromise';
    this.invariant = invariant;
  }
}

/** An arrival whose work its headers say. */
type CountedArrival = Arrival & { readonly work: number };

interface Asked extends CountedArrival {
  readonly since: number;
}

/** Work that a caller was served while requests waited. */
interface Share {
  served: number;
}

export interface Running {
  readonly id: string;
  readonly work: number;
  readonly candidates: readonly string[];
  readonly share: Share;
}

/** Limits that these worlds leave alone. */
export const NO_MORE_LIMITS = {
  maxHeldPerClient: undefined,
  maxHeldBytes: Number.POSITIVE_INFINITY,
} as const;

const MAX_CANDIDATES = 3;
const WAKE_AGAIN_MS = 30_000;
const SHUNNED_MS = 10_000;
const SLOW_START_MS = 30_000;

/**
 * Queue beside separate books: each event is checked against the inputs so far, never against the queue's own state.
 */
export class WatchedQueue {
  readonly #queue: GroupQueue;
  readonly #held = new Map<string, Asked>();
  readonly #running = new Map<string, Running>();
  readonly #answered = new Set<string>();
  readonly #picked: string[] = [];
  readonly #failedAt = new Map<string, number>();
  readonly #startsAt = new Map<string, number>();
  readonly #sharedWork = new Map<string, number>();
  /** Speeds as given: the world checks measured speeds, because it knows the true ones. */
  #speeds: ReadonlyMap<string, number> = new Map();
  readonly #homes: Map<string, string>;
  #settings: QueueSettings;
  #workers: readonly WorkerView[] = [];
  #others: OtherPickers = { count: 0, workers: new Map() };
  #blocked: Blocked | undefined;
  /** From a common start; new ones whenever none waits. */
  #served = new Map<string, Share>();
  #turn = 0;
  readonly #sessions = new Map<string, string>();
  #done = 0;
  #refused = 0;
  #wokenAt: number | undefined;

  /** `homes`: what is known of sessions, shared by all pickers. */
  constructor(settings: QueueSettings, homes: Map<string, string>) {
    this.#settings = settings;
    this.#homes = homes;
    this.#queue = new GroupQueue(settings);
  }

  configure(settings: QueueSettings, now: number): void {
    this.#settings = settings;
    this.#judge(this.#queue.configure(settings, now), now);
  }

  setWorkers(workers: readonly WorkerView[], now: number): void {
    const former = new Map(this.#workers.map((worker) => [worker.name, worker]));
    this.#workers = workers;
    const names = workers.map(({ name }) => name);
    for (const name of this.#failedAt.keys()) if (!names.includes(name)) this.#failedAt.delete(name);
    for (const { name, ready } of workers) {
      const before = former.get(name);
      if (!before || (ready && !before.ready)) this.#startsAt.set(name, now);
      if (!before) this.#sharedWork.set(name, this.#ownWork(name));
    }
    this.#judge(this.#queue.setWorkers(workers, now), now);
  }

  setBlocked(blocked: Blocked | undefined, now: number): void {
    this.#blocked = blocked;
    this.#judge(this.#queue.setProspect({ blocked, starts: false }, now), now);
  }

  setOthers(others: OtherPickers, now: number): void {
    this.#others = others;
    for (const { name } of this.#workers) this.#sharedWork.set(name, this.#ownWork(name));
    this.#judge(this.#queue.setOthers(others, now), now);
  }

  arrive(arrival: CountedArrival, now: number): void {
    const { caller = '' } = arrival;
    const share = this.#served.get(caller) ?? { served: this.#turn };
    if (this.#heldOf(caller).length === 0) share.served = Math.max(share.served, this.#turn);
    this.#served.set(caller, share);
    this.#held.set(arrival.id, { ...arrival, since: now });
    this.#judge(this.#queue.arrive(arrival, now), now, arrival.id);
    this.#demand('maxHeld', this.#held.size <= this.#settings.maxHeld, `${this.#held.size} wait`);
  }

  leave(id: string, now: number): void {
    const isHeld = this.#held.delete(id);
    this.#demand('leave', this.#queue.leave(id) === isHeld, `${id} waited: ${isHeld}`);
    this.#settleShares();
    this.#checkRest(now);
  }

  end(id: string, ending: Ending, now: number): void {
    const one = this.#running.get(id);
    this.#running.delete(id);
    if (one) this.#settle(one, ending, now);
    this.#judge(this.#queue.end(id, ending, now), now);
  }

  tick(now: number): void {
    this.#judge(this.#queue.tick(now), now);
  }

  nextAt(): number | undefined {
    return this.#queue.nextAt();
  }

  held(): readonly string[] {
    return [...this.#held.keys()];
  }

  running(): readonly Running[] {
    return [...this.#running.values()];
  }

  /** Requests that were picked for since the last call, and run. */
  newlyRunning(): readonly Running[] {
    return this.#picked.splice(0).flatMap((id) => this.#running.get(id) ?? []);
  }

  /** Returns the number of waiting requests per caller. */
  heldByCaller(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { caller = '' } of this.#held.values()) counts.set(caller, (counts.get(caller) ?? 0) + 1);
    return counts;
  }

  /** Returns the reported work, done or in flight. */
  reportedWork(): number {
    const { arrivedWork, overestimatedWork } = this.#queue.report(0);
    return arrivedWork - overestimatedWork;
  }

  answered(): readonly string[] {
    return [...this.#answered];
  }

  workOfWorkers(): ReadonlyMap<string, number> {
    return new Map(this.#queue.report(0).workers.map(({ name, work }) => [name, work]));
  }

  /** Returns the state of other pickers, as the operator sends it to one picker. */
  static sharedBy(others: readonly WatchedQueue[]): OtherPickers {
    const workers = new Map<string, { readonly work: number; readonly perf?: number | undefined }>();
    for (const { name, work, perf } of others.flatMap((other) => other.#queue.report(0).workers)) {
      const before = workers.get(name);
      const perfs = [perf ?? [], before?.perf ?? []].flat();
      const most = perfs.length > 0 ? { perf: Math.max(...perfs) } : {};
      workers.set(name, { work: work + (before?.work ?? 0), ...most });
    }
    return { count: others.length, workers };
  }

  /** Returns the speeds of measured workers. */
  speeds(): ReadonlyMap<string, number> {
    return this.#speeds;
  }

  #settle(
    { work: estimate, candidates: [first], share }: Running,
    { worker, failed, work }: Ending,
    now: number,
  ) {
    this.#done += work ?? estimate;
    share.served += (work ?? estimate) - estimate;
    if (first === undefined) return;
    const stoodIn = worker !== undefined && worker !== first;
    const failing = failed ? (worker ?? first) : stoodIn ? first : undefined;
    if (failing !== undefined && this.#workers.some(({ name }) => name === failing)) {
      this.#failedAt.set(failing, now);
      this.#startsAt.set(failing, now + SHUNNED_MS);
    }
    if (failing === undefined && worker === first) {
      this.#failedAt.delete(first);
      this.#startsAt.set(first, Math.min(now, this.#startsAt.get(first) ?? now));
    }
  }

  #judge(effects: readonly Effect[], now: number, arrived?: string): void {
    const { workers } = this.#queue.report(now);
    this.#speeds = new Map(workers.flatMap(({ name, perf }) => (perf === undefined ? [] : [[name, perf]])));
    for (const effect of effects) {
      if (effect.type === 'wake') this.#judgeWake(now);
      else this.#judgeAnswer(effect, now, arrived);
    }
    this.#checkRest(now);
  }

  #judgeWake(now: number): void {
    const isNeeded = this.#held.size > 0 && this.#ready().length === 0;
    this.#demand('neededWake', isNeeded, `${this.#held.size} wait, ${this.#ready().length} ready`);
    const since = this.#wokenAt === undefined ? WAKE_AGAIN_MS : now - this.#wokenAt;
    this.#demand('oneWake', since >= WAKE_AGAIN_MS, `woken ${since} ms after the last time`);
    this.#wokenAt = now;
  }

  #judgeAnswer(effect: Exclude<Effect, { type: 'wake' }>, now: number, arrived: string | undefined): void {
    const { id } = effect;
    const one = this.#held.get(id);
    this.#demand('answeredOnce', !this.#answered.has(id), id);
    if (!one) throw new BrokenPromise('answerToHeld', `${id} does not wait`);
    if (effect.type === 'pick') this.#judgePick(one, effect, now);
    else this.#judgeRefusal(one, effect.refusal, now, arrived);
    this.#held.delete(id);
    this.#answered.add(id);
    this.#settleShares();
  }

  /** Clears the shares once no request waits. */
  #settleShares(): void {
    if (this.#held.size > 0) return;
    this.#served = new Map();
    this.#turn = 0;
  }

  #heldOf(caller: string): readonly Asked[] {
    return [...this.#held.values()].filter((each) => (each.caller ?? '') === caller);
  }

  /** Returns the request that is next: the first one of the least served caller with a free worker. */
  #next(): { readonly id: string | undefined; readonly share: Share } {
    const workers = this.#free();
    const free = [...this.#held.values()].filter((each) => workers.some((name) => mayGoTo(each, name)));
    const waiting = [...new Set(free.map(({ caller = '' }) => caller))];
    const order = waiting
      .map((caller) => ({
        id: free.find((each) => (each.caller ?? '') === caller)?.id,
        share: this.#served.get(caller) ?? { served: 0 },
      }))
      .sort((one, other) => one.share.served - other.share.served);
    return order[0] ?? { id: undefined, share: { served: 0 } };
  }

  #judgePick(one: Asked, { candidates, waitMs }: Extract<Effect, { type: 'pick' }>, now: number): void {
    const { id, work, since } = one;
    const next = this.#next();
    this.#demand('turns', next.id === id, `${id} before ${next.id}`);
    this.#turn = Math.max(this.#turn, next.share.served);
    next.share.served += work;
    this.#demand('waitOfPick', waitMs === now - since, `${waitMs} ms`);
    this.#demand('hold', waitMs < this.#settings.holdMs, `${id} was picked for after ${waitMs} ms`);
    const best = this.#free()
      .filter((name) => mayGoTo(one, name))
      .sort((a, b) => this.#compare(a, b, work, now))
      .slice(0, MAX_CANDIDATES);
    const known = new Set(this.#readyFor(one));
    this.#demand(
      'readyOnly',
      candidates.every((name) => known.has(name)),
      candidates.join(),
    );
    this.#demand(
      'limits',
      candidates.every((name) => this.#accepts(name)),
      candidates.join(),
    );
    const own =
      one.session === undefined
        ? undefined
        : this.#ownOf(one.session, this.#readyFor(one), candidates[0], now);
    const order = own === undefined ? best : [own, ...best.filter((name) => name !== own)];
    const right = order.slice(0, MAX_CANDIDATES).join();
    this.#demand('choice', candidates.join() === right, `${candidates.join()}; best: ${right}`);
    if (one.session !== undefined) this.#sessions.set(one.session, candidates[0] ?? '');
    this.#running.set(id, { id, work, candidates, share: next.share });
    this.#picked.push(id);
  }

  /**
   * Returns the worker for a session: its previous one, else the one that all pickers choose that know the same
   * workers.
   */
  #ownOf(
    session: string,
    ready: readonly string[],
    picked: string | undefined,
    now: number,
  ): string | undefined {
    const before = this.#sessions.get(session);
    const key = `${session} ${ready.toSorted().join()}`;
    const isKnown = before !== undefined && ready.includes(before);
    const own = isKnown ? before : (this.#homes.get(key) ?? picked);
    if (own === undefined || !this.#accepts(own) || this.#isShunned(own, now)) return undefined;
    if (!isKnown && this.#isSurelyHome(ready, now)) this.#homes.set(key, own);
    return own;
  }

  /** Returns true if every ready worker accepts requests, so that the pick is certainly the session's home. */
  #isSurelyHome(ready: readonly string[], now: number): boolean {
    return ready.every((name) => this.#accepts(name) && !this.#isShunned(name, now));
  }

  #judgeRefusal(
    asked: Asked,
    { code, message }: Extract<Effect, { type: 'refuse' }>['refusal'],
    now: number,
    arrived: string | undefined,
  ): void {
    const { id, work, since } = asked;
    if (code !== 'no_endpoint_in_subset') this.#refused += work;
    const { holdMs, maxHeld } = this.#settings;
    switch (code) {
      case 'hold_expired':
        this.#demand('hold', now - since >= holdMs, `${id} expired after ${now - since} ms`);
        return;
      case 'queue_full':
        this.#judgeFull(id, arrived);
        this.#demand('maxHeld', this.#held.size > maxHeld, `full with ${this.#held.size}`);
        return;
      case 'workers_blocked': {
        const isBlocked = this.#blocked !== undefined && this.#ready().length === 0;
        const isNamed = message.startsWith(`${this.#blocked?.reason}: `);
        this.#demand('blocked', isBlocked && isNamed, `${id}: ${message}`);
        return;
      }
      case 'no_endpoint_in_subset': {
        const isOutside = asked.subset !== undefined && this.#readyFor(asked).length === 0;
        this.#demand('subset', isOutside, `${id} may go to ${this.#readyFor(asked).join()}`);
      }
    }
  }

  /**
   * Checks the evicted request: the newest of the caller with the most; among equals, of the caller that arrived
   * last.
   */
  #judgeFull(id: string, arrived: string | undefined): void {
    const own = this.#held.get(arrived ?? '')?.caller ?? '';
    const counts = [...this.#served.keys()].map((caller) => ({ caller, count: this.#heldOf(caller).length }));
    const most = Math.max(...counts.map(({ count }) => count));
    const named =
      this.#heldOf(own).length === most ? own : counts.find(({ count }) => count === most)?.caller;
    const newest = this.#heldOf(named ?? '').at(-1)?.id;
    this.#demand('lastIn', newest === id, `${id}, and not ${newest}`);
  }

  /** Checks the invariants that apply between events. */
  #checkRest(now: number): void {
    const [oldest] = this.#held.values();
    const ready = this.#ready();
    const isIdle = this.#held.size === 0 || ready.length > 0;
    if (isIdle) this.#wokenAt = undefined;
    if (oldest) {
      const { holdMs } = this.#settings;
      this.#demand('hold', now - oldest.since < holdMs, `${oldest.id} waits for ${now - oldest.since} ms`);
      const free = this.#free();
      for (const each of this.#held.values()) {
        const idle = free.filter((name) => mayGoTo(each, name));
        this.#demand('workConserving', idle.length === 0, `${each.id} waits and ${idle.join()} are free`);
        const isPossible = !each.subset || this.#readyFor(each).length > 0;
        this.#demand('subset', isPossible, `${each.id} waits for ${each.subset?.join()}`);
      }
      this.#demand('blocked', !this.#blocked || ready.length > 0, `${oldest.id} waits for nothing`);
    }
    const isAwake = isIdle || (this.#wokenAt !== undefined && now - this.#wokenAt < WAKE_AGAIN_MS);
    this.#demand('woken', isAwake, 'no wake is on its way');
    this.#demand('dueTime', this.nextAt() === this.#dueAt(oldest), `${this.nextAt()}`);
    this.#checkSums(now);
  }

  #dueAt(oldest: Asked | undefined): number | undefined {
    if (!oldest) return undefined;
    const wake = this.#wokenAt === undefined ? Number.POSITIVE_INFINITY : this.#wokenAt + WAKE_AGAIN_MS;
    return Math.min(oldest.since + this.#settings.holdMs, wake);
  }

  #checkSums(now: number): void {
    const report = this.#queue.report(now);
    const held = sum([...this.#held.values()]);
    const running = sum(this.running());
    const real = this.#done + this.#refused + held + running;
    const reported = report.arrivedWork - report.overestimatedWork;
    this.#demand('sums', reported === real, `${reported} is reported, ${real} is real`);
    this.#demand('sums', report.refusedWork === this.#refused, `refused: ${report.refusedWork}`);
    const isHeld = report.heldRequests === this.#held.size && report.heldWork === held;
    this.#demand('sums', isHeld, `held: ${report.heldRequests}, ${report.heldWork}`);
    const shares = report.workers
      .filter(({ requests }) => requests > 0)
      .map(({ name, requests, work }) => `${name}:${requests}:${work}`);
    this.#demand('sums', shares.sort().join() === this.#shares().join(), shares.join());
    const inFlight = this.#queue.inFlightRequests();
    this.#demand('sums', inFlight === this.#running.size, `in flight: ${inFlight}`);
  }

  #shares(): readonly string[] {
    const names = new Set(this.running().map(({ candidates: [first] }) => first));
    const shares = [...names].map((name) => {
      const its = this.running().filter(({ candidates: [first] }) => first === name);
      return `${name}:${its.length}:${sum(its)}`;
    });
    return shares.sort();
  }

  #ready(): readonly string[] {
    return this.#workers.filter(({ ready }) => ready).map(({ name }) => name);
  }

  #readyFor(asked: Asked): readonly string[] {
    return this.#ready().filter((name) => mayGoTo(asked, name));
  }

  #free(): readonly string[] {
    return this.#ready().filter((name) => this.#accepts(name));
  }

  #accepts(name: string): boolean {
    const speed = this.speed(name);
    if (speed === undefined) return true;
    const limit = (speed * this.#settings.maxQueueTimeMs) / 1000;
    const part = Math.min(this.#sharedWork.get(name) ?? 0, limit / (this.#others.count + 1));
    return this.#load(name) <= limit || this.#ownWork(name) <= part;
  }

  /** Returns the worker's speed; if it was not measured, its expected speed, else the average of the others. */
  speed(name: string): number | undefined {
    const own = this.#measured(name);
    if (own !== undefined) return own;
    if (this.#settings.expectedPerf !== undefined) return this.#settings.expectedPerf;
    const known = this.#workers.flatMap((worker) => this.#measured(worker.name) ?? []);
    return known.length > 0 ? known.reduce((total, speed) => total + speed, 0) / known.length : undefined;
  }

  #measured(name: string): number | undefined {
    const all = [this.#speeds.get(name) ?? [], this.#others.workers.get(name)?.perf ?? []].flat();
    return all.length > 0 ? Math.max(...all) : undefined;
  }

  #ownWork(name: string): number {
    return sum(this.running().filter(({ candidates: [first] }) => first === name));
  }

  /** Returns the estimated load: each other picker may have sent it as much as this one since the last exchange. */
  #load(name: string): number {
    const own = this.#ownWork(name);
    const given = Math.max(0, own - (this.#sharedWork.get(name) ?? 0));
    return own + (this.#others.workers.get(name)?.work ?? 0) + given * this.#others.count;
  }

  #isShunned(name: string, now: number): boolean {
    return now - (this.#failedAt.get(name) ?? -1e9) < SHUNNED_MS;
  }

  #wait(name: string, work: number, now: number): number {
    const age = now - (this.#startsAt.get(name) ?? now);
    const share = Math.min(1, Math.max(0.1, age / SLOW_START_MS));
    return (this.#load(name) + work) / ((this.speed(name) ?? 1) * share);
  }

  #compare(one: string, other: string, work: number, now: number): number {
    const byFailure = Number(this.#isShunned(one, now)) - Number(this.#isShunned(other, now));
    const byWait = this.#wait(one, work, now) - this.#wait(other, work, now);
    const priceOf = (name: string) => this.#workers.find((each) => each.name === name)?.pricePerHour ?? 1e12;
    return byFailure || byWait || priceOf(one) - priceOf(other) || (one < other ? -1 : 1);
  }

  #demand(invariant: string, holds: boolean, detail: string): void {
    if (!holds) throw new BrokenPromise(invariant, detail);
  }
}

const mayGoTo = ({ subset }: Asked, worker: string): boolean => subset?.includes(worker) ?? true;

const sum = (items: readonly { readonly work: number }[]): number =>
  items.reduce((total, { work }) => total + work, 0);
