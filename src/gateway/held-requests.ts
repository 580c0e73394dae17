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

interface Node {
  readonly held: Held;
  readonly place: number;
  readonly caller: Caller;
  before: Node | undefined;
  after: Node | undefined;
}

interface Caller {
  /** Work served since requests began to wait, from a common start. */
  served: number;
  count: number;
  oldest: Node | undefined;
  newest: Node | undefined;
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
  readonly #nodes = new Map<string, Node>();
  readonly #callers = new Map<string, Caller>();
  /** What the caller had been served whose turn was last. */
  #turn = 0;
  #contest = 0;
  #places = 0;

  get size(): number {
    return this.#nodes.size;
  }

  has(id: string): boolean {
    return this.#nodes.has(id);
  }

  /** The one that waits longest. */
  oldest(): Held | undefined {
    const [node] = this.#nodes.values();
    return node?.held;
  }

  all(): readonly Held[] {
    return [...this.#nodes.values()].map(({ held }) => held);
  }

  work(): number {
    return this.all().reduce((sum, { work }) => sum + work, 0);
  }

  add(held: Held): void {
    const caller = this.#callers.get(held.caller) ?? this.#enter(held.caller);
    if (caller.count === 0) caller.served = Math.max(caller.served, this.#turn);
    this.#places += 1;
    const node = { held, place: this.#places, caller, before: caller.newest, after: undefined };
    if (caller.newest) caller.newest.after = node;
    caller.newest = node;
    caller.oldest ??= node;
    caller.count += 1;
    this.#nodes.set(held.id, node);
  }

  /** Takes a request out that gets no worker. */
  remove(id: string): Held | undefined {
    const node = this.#nodes.get(id);
    if (!node) return undefined;
    const { caller, before, after } = node;
    if (before) before.after = after;
    else caller.oldest = after;
    if (after) after.before = before;
    else caller.newest = before;
    caller.count -= 1;
    this.#nodes.delete(id);
    if (this.#nodes.size === 0) this.#settle();
    return node.held;
  }

  /** Whose turn it is. */
  next(): Held | undefined {
    let best: Caller | undefined;
    for (const caller of this.#callers.values())
      if (caller.count > 0 && (!best || isEarlier(caller, best))) best = caller;
    return best?.oldest?.held;
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
    let most = this.#nodes.get(id)?.caller;
    for (const caller of this.#callers.values()) if (!most || caller.count > most.count) most = caller;
    return most?.newest?.held;
  }

  #enter(name: string): Caller {
    const caller: Caller = { served: this.#turn, count: 0, oldest: undefined, newest: undefined };
    this.#callers.set(name, caller);
    return caller;
  }

  /** Where none waits all were served, and nobody owes anything. */
  #settle(): void {
    this.#callers.clear();
    this.#turn = 0;
    this.#contest += 1;
  }
}

function isEarlier(one: Caller, other: Caller): boolean {
  if (one.served !== other.served) return one.served < other.served;
  return (one.oldest?.place ?? 0) < (other.oldest?.place ?? 0);
}
