import type { Clock } from '../../lib/clock.ts';

/** Waiting object, in the name of its namespace. */
export interface Member {
  readonly uid: string;
  readonly namespace: string;
}

interface Share<T> {
  readonly namespace: string;
  /** On `clock.monotonic()`: when a member was last served, or a little before the first one joined. */
  servedAt: number;
  /** Members in the order in which they joined. */
  readonly members: Map<string, T>;
}

/**
 * A new namespace counts as last served this long ago. It precedes namespaces that were served since, and namespaces
 * that repeatedly join delay others for at most this time.
 */
const NEWCOMER_LEAD_MS = 15_000;
/** Positions are recounted after this time, so that many requests for a position cost one count. */
const POSITIONS_MS = 1_000;

/**
 * A queue that is fair to namespaces. The namespace that was served longest ago is next; within it, the object that
 * joined first. A namespace with 500 waiting objects delays another namespace by one turn.
 */
export class FairQueue<T extends Member> {
  readonly #clock: Clock;
  readonly #shares = new Map<string, Share<T>>();
  readonly #shareOf = new Map<string, Share<T>>();
  #positions: { readonly at: number; readonly byUid: ReadonlyMap<string, number> } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#shareOf.size;
  }

  get(uid: string): T | undefined {
    return this.#shareOf.get(uid)?.members.get(uid);
  }

  /** Adds a member at the end of its namespace; a member that has joined already keeps its position. */
  put(member: T): void {
    const { uid, namespace } = member;
    const share = this.#shares.get(namespace) ?? this.#open(namespace);
    share.members.set(uid, member);
    this.#shareOf.set(uid, share);
  }

  remove(uid: string): boolean {
    this.#shareOf.get(uid)?.members.delete(uid);
    return this.#shareOf.delete(uid);
  }

  /** Records that a member of this namespace had its turn: the other namespaces are next. */
  served(namespace: string): void {
    const share = this.#shares.get(namespace);
    if (share) share.servedAt = this.#clock.monotonic();
    this.#positions = undefined;
  }

  /** Returns the first member in order that is ready. */
  next(isReady: (member: T) => boolean): T | undefined {
    for (const { members } of this.#inTurn()) {
      for (const member of members.values()) if (isReady(member)) return member;
    }
    return undefined;
  }

  /** Yields every member, without order between namespaces. */
  *members(): Iterable<T> {
    for (const { members } of this.#shares.values()) yield* members.values();
  }

  /** Yields the members in order: the first of each namespace, then the second of each, and so on. */
  *inOrder(): Iterable<T> {
    let rows = this.#inTurn().map(({ members }) => members.values());
    while (rows.length > 0) {
      const left: typeof rows = [];
      for (const row of rows) {
        const { value, done } = row.next();
        if (done) continue;
        yield value;
        left.push(row);
      }
      rows = left;
    }
  }

  /** Returns the number of members ahead of this one, counted at most a second ago. */
  ahead(uid: string): number {
    const now = this.#clock.monotonic();
    if (!this.#positions || now - this.#positions.at >= POSITIONS_MS) {
      const byUid = new Map<string, number>();
      for (const member of this.inOrder()) byUid.set(member.uid, byUid.size);
      this.#positions = { at: now, byUid };
    }
    return this.#positions.byUid.get(uid) ?? this.#aheadOfLast(this.#shareOf.get(uid));
  }

  /** Returns the number of members that would be ahead of a new member of that namespace. */
  aheadOfNewcomer(namespace: string): number {
    const own = this.#shares.get(namespace)?.members.size ?? 0;
    return this.#ahead(namespace, own);
  }

  /**
   * Returns the number of members ahead of a member that joined after the last count, which is the last of its
   * namespace or near it.
   */
  #aheadOfLast(share: Share<T> | undefined): number {
    return share ? this.#ahead(share.namespace, share.members.size - 1) : 0;
  }

  #ahead(namespace: string, own: number): number {
    let ahead = own;
    for (const [name, { members }] of this.#shares) {
      if (name !== namespace) ahead += Math.min(members.size, own);
    }
    return ahead;
  }

  #open(namespace: string): Share<T> {
    const newcomer = this.#clock.monotonic() - NEWCOMER_LEAD_MS;
    for (const [name, { members, servedAt }] of this.#shares) {
      if (members.size === 0 && servedAt < newcomer) this.#shares.delete(name);
    }
    const share: Share<T> = { namespace, servedAt: newcomer, members: new Map() };
    this.#shares.set(namespace, share);
    return share;
  }

  #inTurn(): readonly Share<T>[] {
    return [...this.#shares.values()].sort((left, right) => left.servedAt - right.servedAt);
  }
}
