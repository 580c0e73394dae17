/** A request that waits. */
export interface Held {
  readonly id: string;
  readonly work: number;
  readonly since: number;
  readonly caller: string;
  readonly session: string | undefined;
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
  /** Work served since requests began to wait, from a common start. */
  served: number;
  readonly line: Line<Entry>;
}

interface Place {
  readonly caller: Caller;
  readonly inAll: Link<Entry>;
  readonly inLine: Link<Entry>;
}

/**
 * Requests that wait, each with a caller. Callers take turns: the next one is who was served the least work since requests
 * began to wait; who had none waiting begins where the others are, so that silence saves nothing up. Requests of one caller
 * are in the order of their arrival, and so are callers of equal work.
 *
 * A step costs as much as there are callers, however many requests wait.
 */
export class HeldRequests {
  /** In the order of their arrival. */
  readonly #all = new Line<Entry>();
  readonly #places = new Map<string, Place>();
  readonly #callers = new Map<string, Caller>();
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

  work(): number {
    return this.all().reduce((sum, { work }) => sum + work, 0);
  }

  add(held: Held): void {
    const caller = this.#callers.get(held.caller) ?? this.#enter(held.caller);
    if (caller.line.count === 0) caller.served = Math.max(caller.served, this.#turn);
    this.#count += 1;
    const entry = { held, place: this.#count };
    this.#places.set(held.id, { caller, inAll: this.#all.add(entry), inLine: caller.line.add(entry) });
  }

  /** Takes a request out that gets no worker. */
  remove(id: string): Held | undefined {
    const place = this.#places.get(id);
    if (!place) return undefined;
    const { caller, inAll, inLine } = place;
    this.#all.remove(inAll);
    caller.line.remove(inLine);
    this.#places.delete(id);
    if (this.#places.size === 0) this.#settle();
    return inAll.item.held;
  }

  /** Whose turn it is. */
  next(): Held | undefined {
    let best: Caller | undefined;
    for (const caller of this.#callers.values())
      if (caller.line.count > 0 && (!best || isEarlier(caller, best))) best = caller;
    return best?.line.first()?.held;
  }

  /** Takes a request out that gets a worker: its caller has had its turn. */
  serve({ id, work, caller: name }: Held): Charge {
    const contest = this.#contest;
    const caller = this.#callers.get(name);
    if (caller) {
      this.#turn = Math.max(this.#turn, caller.served);
      caller.served += work;
    }
    this.remove(id);
    return { caller: name, contest };
  }

  /** A request that was served was so much more work than it was charged for, or less. */
  correct({ caller: name, contest }: Charge, difference: number): void {
    const caller = contest === this.#contest ? this.#callers.get(name) : undefined;
    if (caller) caller.served += difference;
  }

  /** The newest request of the caller that has the most of them; of equal ones that of `id`. */
  mostOf(id: string): Held | undefined {
    let most = this.#places.get(id)?.caller;
    for (const caller of this.#callers.values())
      if (!most || caller.line.count > most.line.count) most = caller;
    return most?.line.last()?.held;
  }

  #enter(name: string): Caller {
    const caller: Caller = { served: 0, line: new Line() };
    this.#callers.set(name, caller);
    return caller;
  }

  /** Where none waits all were served, and no caller is ahead of another. */
  #settle(): void {
    this.#callers.clear();
    this.#turn = 0;
    this.#contest += 1;
  }
}

function isEarlier(one: Caller, other: Caller): boolean {
  if (one.served !== other.served) return one.served < other.served;
  return (one.line.first()?.place ?? 0) < (other.line.first()?.place ?? 0);
}
