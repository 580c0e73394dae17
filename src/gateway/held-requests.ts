import { IndexedHeap } from '../lib/indexed-heap.ts';

/** A request that waits. */
export interface Held {
  readonly id: string;
  readonly work: number;
  readonly since: number;
  readonly caller: string;
  readonly session: string | undefined;
  /** Workers that it may go to, by name; undefined where it may go to any. */
  readonly subset: readonly string[] | undefined;
}

/** What one caller is to be charged for, and when that was agreed. */
export interface Charge {
  readonly caller: string;
  /** Requests have waited since then, one or another. */
  readonly contest: number;
}

interface Link<T> {
  readonly item: T;
  before: Link<T> | undefined;
  after: Link<T> | undefined;
}

/** A line from which any item leaves at the same cost: the first one of a Map is found past all that were deleted. */
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

  /** `link` is of this line. */
  remove({ before, after }: Link<T>): void {
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    this.count -= 1;
  }
}

interface Entry {
  readonly held: Held;
  readonly place: number;
}

interface Caller {
  /** In the order in which callers came. */
  readonly place: number;
  /** Work served since requests began to wait, from a common start. */
  served: number;
  readonly line: Line<Entry>;
  /** Where it has requests waiting. */
  readonly turns: Map<Lane, Turn>;
}

/** Requests of a caller that may go to the same workers. */
interface Turn {
  readonly caller: Caller;
  readonly line: Line<Entry>;
}

/** Requests that may go to the same workers, and whose turn it is among their callers. */
interface Lane {
  readonly key: string;
  readonly subset: readonly string[] | undefined;
  readonly turns: IndexedHeap<Turn>;
}

interface Place {
  readonly lane: Lane;
  readonly turn: Turn;
  readonly inAll: Link<Entry>;
  readonly inCaller: Link<Entry>;
  readonly inTurn: Link<Entry>;
}

/**
 * Requests that wait, each with a caller. Callers take turns: the next one is who was served the least work since requests
 * began to wait; who had none waiting begins where the others are, so that silence saves nothing up. Requests of one caller
 * are in the order of their arrival, and so are callers of equal work. A request that may not go to the workers that are
 * free keeps no other one waiting.
 *
 * A step costs the logarithm of the number of callers, for each set of workers that requests are kept to, however many
 * wait.
 */
export class HeldRequests {
  /** In the order of their arrival. */
  readonly #all = new Line<Entry>();
  readonly #places = new Map<string, Place>();
  readonly #callers = new Map<string, Caller>();
  #byCount = new IndexedHeap<Caller>(hasMore);
  readonly #lanes = new Map<string, Lane>();
  /** What the caller had been served whose turn was last. */
  #turn = 0;
  #contest = 0;
  #count = 0;

  get size(): number {
    return this.#places.size;
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** The one that waits longest. */
  oldest(): Held | undefined {
    return this.#all.first()?.held;
  }

  all(): readonly Held[] {
    return [...this.#places.values()].map(({ inAll }) => inAll.item.held);
  }

  /** The sets of workers that requests which wait are kept to. */
  subsets(): readonly (readonly string[])[] {
    return [...this.#lanes.values()].flatMap(({ subset }) => (subset ? [subset] : []));
  }

  work(): number {
    return this.all().reduce((sum, { work }) => sum + work, 0);
  }

  add(held: Held): void {
    const caller = this.#callers.get(held.caller) ?? this.#enter(held.caller);
    if (caller.line.count === 0) caller.served = Math.max(caller.served, this.#turn);
    const lane = this.#laneOf(held.subset);
    const turn = caller.turns.get(lane) ?? { caller, line: new Line() };
    caller.turns.set(lane, turn);
    this.#count += 1;
    const entry = { held, place: this.#count };
    const [inAll, inCaller, inTurn] = [this.#all.add(entry), caller.line.add(entry), turn.line.add(entry)];
    this.#places.set(held.id, { lane, turn, inAll, inCaller, inTurn });
    if (turn.line.count === 1) lane.turns.put(turn);
    this.#byCount.put(caller);
  }

  /** Takes a request out that gets no worker. */
  remove(id: string): Held | undefined {
    const place = this.#places.get(id);
    if (!place) return undefined;
    const { lane, turn, inAll, inCaller, inTurn } = place;
    this.#all.remove(inAll);
    turn.caller.line.remove(inCaller);
    turn.line.remove(inTurn);
    this.#places.delete(id);
    if (this.#places.size === 0) this.#settle();
    else this.#shorten(lane, turn);
    return inAll.item.held;
  }

  /** Whose turn it is of those that may go to workers that are free; undefined where none may. */
  next(isFree: (subset: readonly string[] | undefined) => boolean): Held | undefined {
    let best: Turn | undefined;
    for (const { subset, turns } of this.#lanes.values()) {
      const turn = turns.first();
      if (turn && (!best || isEarlier(turn, best)) && isFree(subset)) best = turn;
    }
    return best?.line.first()?.held;
  }

  /** Takes a request out that gets a worker: its caller has had its turn. */
  serve({ id, work, caller: name }: Held): Charge {
    const contest = this.#contest;
    const caller = this.#callers.get(name);
    if (caller) {
      this.#turn = Math.max(this.#turn, caller.served);
      this.#charge(caller, work);
    }
    this.remove(id);
    return { caller: name, contest };
  }

  /** A request that was served was so much more work than it was charged for, or less. */
  correct({ caller: name, contest }: Charge, difference: number): void {
    const caller = contest === this.#contest ? this.#callers.get(name) : undefined;
    if (caller) this.#charge(caller, difference);
  }

  /** The newest request of the caller that has the most of them; of equal ones that of `id`. */
  mostOf(id: string): Held | undefined {
    const own = this.#places.get(id)?.turn.caller;
    const most = this.#byCount.first();
    const named = own && most && most.line.count > own.line.count ? most : (own ?? most);
    return named?.line.last()?.held;
  }

  #enter(name: string): Caller {
    const caller: Caller = { place: this.#callers.size, served: 0, line: new Line(), turns: new Map() };
    this.#callers.set(name, caller);
    return caller;
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

  /** A request left. */
  #shorten(lane: Lane, turn: Turn): void {
    this.#byCount.put(turn.caller);
    if (turn.line.count > 0) {
      lane.turns.put(turn);
      return;
    }
    lane.turns.remove(turn);
    turn.caller.turns.delete(lane);
    if (!lane.turns.first()) this.#lanes.delete(lane.key);
  }

  /** Where none waits all were served, and no caller is ahead of another. */
  #settle(): void {
    this.#byCount = new IndexedHeap(hasMore);
    this.#callers.clear();
    this.#lanes.clear();
    this.#turn = 0;
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
