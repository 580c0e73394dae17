import { IndexedHeap } from '../lib/indexed-heap.ts';

/** A waiting request. */
export interface Held {
  readonly id: string;
  /** Undefined while its body is read: until then it gets no worker. */
  readonly work: number | undefined;
  /** Maximum memory that it uses here and in Envoy. */
  readonly bytes: number;
  readonly since: number;
  readonly caller: string;
  readonly session: string | undefined;
  /** Names of the only workers that it may go to; undefined if any may. */
  readonly subset: readonly string[] | undefined;
}

/** The amount charged to a caller, and the period of the charge. */
export interface Charge {
  readonly caller: string;
  /** Start of the period in which at least one request waits. */
  readonly contest: number;
}

interface Link<T> {
  readonly item: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

/**
 * A linked list: removing any item has the same cost. In a Map, finding the first entry would pass all deleted ones.
 */
class Line<T> {
  count = 0;
  #first: Link<T> | undefined;
  #last: Link<T> | undefined;

  first(): T | undefined {
    return this.#first?.item;
  }

  last(): T | undefined {
    return this.#last?.item;
  }

  add(item: T): Link<T> {
    const link: Link<T> = { item, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = link;
    else this.#first = link;
    this.#last = link;
    this.count += 1;
    return link;
  }

  /** Removes an item; `link` must be of this list. */
  remove({ before, after }: Link<T>): void {
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    this.count -= 1;
  }
}

/** A waiting request whose work is known. */
export type Counted = Held & { readonly work: number };

interface Entry {
  held: Held;
  readonly place: number;
}

interface Caller {
  /** Order of the callers' arrival. */
  readonly place: number;
  /** Work served since requests began to wait, from a common start. */
  served: number;
  /** Memory of its waiting requests. */
  bytes: number;
  readonly line: Line<Entry>;
  /** Turns of the caller, by the lanes with waiting requests. */
  readonly turns: Map<Lane, Turn>;
}

/** Requests of a caller that may go to the same workers. */
interface Turn {
  readonly caller: Caller;
  readonly line: Line<Entry>;
}

/** Requests that may go to the same workers, with the turns of their callers. */
interface Lane {
  readonly key: string;
  readonly subset: readonly string[] | undefined;
  readonly turns: IndexedHeap<Turn>;
}

interface Place {
  readonly caller: Caller;
  readonly inAll: Link<Entry>;
  readonly inCaller: Link<Entry>;
  /** Present while its body is read. */
  inReading: Link<Entry> | undefined;
  /** Present when its work is known. */
  waiting: { readonly lane: Lane; readonly turn: Turn; readonly inTurn: Link<Entry> } | undefined;
}

/** Maximum number of callers kept without a waiting request. */
const MAX_SILENT_CALLERS = 10_000;

/** Measure for comparing callers when a limit is exceeded. */
export type Measure = 'requests' | 'bytes';

/**
 * Waiting requests, each with a caller. Callers take turns: the next one is the caller with the least work served since
 * requests began to wait. A caller without waiting requests starts level with the others, so an idle caller saves up no
 * credit. Requests of one caller keep the order of their arrival, and so do callers of equal work. A request that may
 * not go to the free workers delays no other one.
 *
 * A step costs the logarithm of the number of callers for each set of allowed workers, regardless of the number of
 * requests.
 */
export class HeldRequests {
  /** Requests in the order of their arrival. */
  readonly #all = new Line<Entry>();
  /** Requests whose bodies are being read, in the same order. */
  readonly #reading = new Line<Entry>();
  readonly #places = new Map<string, Place>();
  readonly #callers = new Map<string, Caller>();
  #byCount = new IndexedHeap<Caller>(hasMore);
  #byBytes = new IndexedHeap<Caller>(hasMoreBytes);
  readonly #lanes = new Map<string, Lane>();
  /** Work served to the caller of the last turn. */
  #turn = 0;
  #contest = 0;
  #count = 0;
  #bytes = 0;
  #entered = 0;
  #sweepAt = MAX_SILENT_CALLERS;

  /** Number of requests, including those whose bodies are being read. */
  get size(): number {
    return this.#places.size;
  }

  /** Number of requests that only lack a worker. */
  get ready(): number {
    return this.#places.size - this.#reading.count;
  }

  /** Memory of all requests. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the number of a caller's requests. */
  countOf(caller: string): number {
    return this.#callers.get(caller)?.line.count ?? 0;
  }

  /** Returns the request whose body has been read for the longest time. */
  oldestReading(): Held | undefined {
    return this.#reading.first()?.held;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** Returns the request that has waited longest. */
  oldest(): Held | undefined {
    return this.#all.first()?.held;
  }

  all(): readonly Held[] {
    return [...this.#places.values()].map(({ inAll }) => inAll.item.held);
  }

  /** Returns the sets of allowed workers of the waiting requests. */
  subsets(): readonly (readonly string[])[] {
    return [...this.#lanes.values()].flatMap(({ subset }) => (subset ? [subset] : []));
  }

  work(): number {
    return this.all().reduce((sum, { work = 0 }) => sum + work, 0);
  }

  add(held: Held): void {
    const caller = this.#callers.get(held.caller) ?? this.#enter(held.caller);
    if (caller.line.count === 0) caller.served = Math.max(caller.served, this.#turn);
    this.#count += 1;
    const entry: Entry = { held, place: this.#count };
    const [inAll, inCaller] = [this.#all.add(entry), caller.line.add(entry)];
    const place: Place = { caller, inAll, inCaller, inReading: undefined, waiting: undefined };
    this.#places.set(held.id, place);
    this.#weigh(caller, held.bytes);
    if (held.work === undefined) place.inReading = this.#reading.add(entry);
    else this.#lineUp(place);
  }

  /** Sets the work of a request after its body was read: it now waits for a worker. Returns false if it has left. */
  count(id: string, work: number): boolean {
    const place = this.#places.get(id);
    if (!place?.inReading) return false;
    this.#reading.remove(place.inReading);
    place.inReading = undefined;
    const entry = place.inAll.item;
    entry.held = { ...entry.held, work };
    this.#lineUp(place);
    return true;
  }

  /** Removes a request that gets no worker. */
  remove(id: string): Held | undefined {
    const place = this.#places.get(id);
    if (!place) return undefined;
    const { caller, waiting, inAll, inCaller, inReading } = place;
    const { held } = inAll.item;
    this.#all.remove(inAll);
    caller.line.remove(inCaller);
    if (inReading) this.#reading.remove(inReading);
    waiting?.turn.line.remove(waiting.inTurn);
    this.#places.delete(id);
    this.#bytes -= held.bytes;
    caller.bytes -= held.bytes;
    if (this.#places.size === 0) this.#settle();
    else this.#shorten(caller, waiting);
    return held;
  }

  /** Returns the request whose turn is next among those that may go to free workers; undefined if there is none. */
  next(isFree: (subset: readonly string[] | undefined) => boolean): Counted | undefined {
    let best: Turn | undefined;
    for (const { subset, turns } of this.#lanes.values()) {
      const turn = turns.first();
      if (turn && (!best || isEarlier(turn, best)) && isFree(subset)) best = turn;
    }
    const held = best?.line.first()?.held;
    return held && isCounted(held) ? held : undefined;
  }

  /** Removes a request that gets a worker: its caller has had its turn. */
  serve({ id, work, caller: name }: Counted): Charge {
    const contest = this.#contest;
    const caller = this.#callers.get(name);
    if (caller) {
      this.#turn = Math.max(this.#turn, caller.served);
      this.#charge(caller, work);
    }
    this.remove(id);
    return { caller: name, contest };
  }

  /** Corrects a charge by the difference between the served work and the estimate. */
  correct({ caller: name, contest }: Charge, difference: number): void {
    const caller = contest === this.#contest ? this.#callers.get(name) : undefined;
    if (caller) this.#charge(caller, difference);
  }

  /** Returns the newest request of the caller that has most; of equal callers that of `id`. */
  mostOf(id: string | undefined, measure: Measure = 'requests'): Held | undefined {
    const own = id === undefined ? undefined : this.#places.get(id)?.caller;
    const heap = measure === 'bytes' ? this.#byBytes : this.#byCount;
    const most = heap.first();
    const isMore = own && most && amountOf(most, measure) > amountOf(own, measure);
    const named = isMore ? most : (own ?? most);
    return named?.line.last()?.held;
  }

  #enter(name: string): Caller {
    if (this.#callers.size >= this.#sweepAt) this.#forgetSilent();
    const caller: Caller = {
      ...{ place: this.#entered, served: 0, bytes: 0 },
      ...{ line: new Line<Entry>(), turns: new Map<Lane, Turn>() },
    };
    this.#entered += 1;
    this.#callers.set(name, caller);
    return caller;
  }

  /** Removes idle callers: without keys there are as many callers as addresses. */
  #forgetSilent(): void {
    for (const [name, caller] of this.#callers) {
      if (caller.line.count > 0) continue;
      this.#callers.delete(name);
      this.#byCount.remove(caller);
      this.#byBytes.remove(caller);
    }
    this.#sweepAt = Math.max(MAX_SILENT_CALLERS, 2 * this.#callers.size);
  }

  #laneOf(subset: readonly string[] | undefined): Lane {
    const key = subset ? JSON.stringify(subset) : '';
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane = { key, subset, turns: new IndexedHeap(isEarlier) };
    this.#lanes.set(key, lane);
    return lane;
  }

  #charge(caller: Caller, work: number): void {
    caller.served += work;
    for (const [lane, turn] of caller.turns) lane.turns.put(turn);
  }

  #lineUp(place: Place): void {
    const { caller, inAll } = place;
    const lane = this.#laneOf(inAll.item.held.subset);
    const turn = caller.turns.get(lane) ?? { caller, line: new Line() };
    caller.turns.set(lane, turn);
    place.waiting = { lane, turn, inTurn: turn.line.add(inAll.item) };
    if (turn.line.count === 1) lane.turns.put(turn);
  }

  #weigh(caller: Caller, bytes: number): void {
    this.#bytes += bytes;
    caller.bytes += bytes;
    this.#byCount.put(caller);
    this.#byBytes.put(caller);
  }

  /** Removes a request from the counts of its caller. */
  #shorten(caller: Caller, waiting: Place['waiting']): void {
    this.#byCount.put(caller);
    this.#byBytes.put(caller);
    if (!waiting) return;
    const { lane, turn } = waiting;
    if (turn.line.count > 0) {
      lane.turns.put(turn);
      return;
    }
    lane.turns.remove(turn);
    caller.turns.delete(lane);
    if (!lane.turns.first()) this.#lanes.delete(lane.key);
  }

  /** Resets all turns when no request waits: no caller is then ahead of another. */
  #settle(): void {
    this.#byCount = new IndexedHeap(hasMore);
    this.#byBytes = new IndexedHeap(hasMoreBytes);
    this.#callers.clear();
    this.#lanes.clear();
    this.#turn = 0;
    this.#entered = 0;
    this.#sweepAt = MAX_SILENT_CALLERS;
    this.#contest += 1;
  }
}

function isEarlier(one: Turn, other: Turn): boolean {
  const [served, otherServed] = [one.caller.served, other.caller.served];
  if (served !== otherServed) return served < otherServed;
  return (one.line.first()?.place ?? 0) < (other.line.first()?.place ?? 0);
}

function hasMore(one: Caller, other: Caller): boolean {
  if (one.line.count !== other.line.count) return one.line.count > other.line.count;
  return one.place < other.place;
}

function hasMoreBytes(one: Caller, other: Caller): boolean {
  if (one.bytes !== other.bytes) return one.bytes > other.bytes;
  return one.place < other.place;
}

function amountOf({ line, bytes }: Caller, measure: Measure): number {
  return measure === 'bytes' ? bytes : line.count;
}

function isCounted(held: Held): held is Counted {
  return held.work !== undefined;
}
