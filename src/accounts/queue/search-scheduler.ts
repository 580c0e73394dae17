import type { Clock, Timer } from '../../lib/clock.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Offer, OfferQuery } from '../../market/offer.ts';
import type { Pacer } from '../../market/pacing.ts';
import { FairQueue, type Member } from './fair-queue.ts';
import {
  baseOf,
  type Coverage,
  coverageOf,
  coverOf,
  emptinessOf,
  mayFind,
  queryKey,
} from './search-cover.ts';

/** A reply serves searches that are requested within this time. */
export const SEARCH_SHARED_MS = 15_000;
/** An object that waits for its rental keeps a reply for this time. */
export const SEARCH_KEPT_MS = 60_000;
/** Minimum interval before a search whose offers are all reserved is repeated. */
const SEARCH_AGAIN_MS = 1_000;
/**
 * Minimum interval between searches without an urgent object, so that the search lane stays free for others.
 */
const PATIENT_GAP_MS = 15_000;
/** Wait after which a patient object is served in turn with urgent ones; one such object per this period. */
const PATIENT_MAX_MS = 60_000;
/** Maximum number of kept replies; small, since one may contain 2,000 offers. */
const MAX_REPLIES = 12;
const MAX_IN_FLIGHT = 4;
const MAX_BACKGROUND = 64;

/** A requesting object, with the function to call when there is an answer. */
export interface SearchRequester extends Member {
  /** Generation of the object; a changed generation requests again. */
  readonly generation: number;
  readonly wake: () => void;
}

/** Search of one object. */
export interface SearchRequest {
  /** The search, and the searches that follow if it finds nothing. */
  readonly queries: readonly [OfferQuery, ...OfferQuery[]];
  /** True if the request needs a reply to exactly this query: a shared reply has too little information. */
  readonly exact?: boolean;
  /**
   * Monotonic milliseconds: replies of earlier searches do not count, since a person requested a reconcile or a
   * second search is due.
   */
  readonly askedAt?: number;
  /** True if the object found nothing before: it may wait for searches that others need. */
  readonly patient?: boolean;
}

/** State of a search. */
export type SearchAnswer =
  | {
      readonly type: 'found';
      readonly offers: readonly Offer[];
      /** Begin of the search, on `clock.monotonic()`. */
      readonly begunAt: number;
      /** True if the reply may contain offers beyond the query; the caller filters them. */
      readonly isShared: boolean;
    }
  | { readonly type: 'failed'; readonly error: unknown }
  | {
      readonly type: 'queued';
      /** Resolves with the end of the search if it is on its way; undefined while it has not begun. */
      readonly ended: Promise<void> | undefined;
    };

export interface SearchSchedulerOptions {
  readonly clock: Clock;
  readonly pacer: Pacer;
  readonly search: (query: OfferQuery) => Promise<readonly Offer[]>;
  /** Returns true if an object has reserved the offer. A reply with only reserved offers is used up. */
  readonly isReserved: (offerId: string) => boolean;
  /** A search ended. */
  readonly onEnd: () => void;
}

interface Waiting extends SearchRequester, SearchRequest {
  readonly since: number;
}

interface Reply {
  readonly query: OfferQuery;
  readonly key: string;
  readonly covers: Coverage;
  /** On `clock.monotonic()`. */
  readonly begunAt: number;
  readonly answeredAt: number;
  readonly offers: readonly Offer[];
}

interface InFlight {
  readonly key: string;
  readonly covers: Coverage;
  readonly ended: Promise<void>;
  /** Members for which the search began; others join it later. */
  readonly begunFor: ReadonlySet<string>;
  readonly members: Set<string>;
}

/** Returns true if a reply with this number of rows contains every matching offer. */
const isComplete = ({ query, offers }: Reply): boolean =>
  offers.length < (query.limit ?? Number.POSITIVE_INFINITY);

/**
 * The searches of one login, in a fair order and as fast as the marketplace allows. One search answers every object
 * whose requirements it covers, so 500 waiting objects may cost one search.
 */
export class SearchScheduler {
  readonly #options: SearchSchedulerOptions;
  readonly #line: FairQueue<Waiting>;
  /** Searches that only explain, by query. */
  readonly #background = new Map<string, OfferQuery>();
  readonly #failures = new Map<string, { readonly key: string; readonly error: unknown }>();
  /**
   * Number of objects that may share the next search of an object whose last search was too wide or was refused as
   * invalid. 1: the object searches alone.
   */
  readonly #shares = new Map<string, number>();
  readonly #inFlight = new Set<InFlight>();
  #replies: readonly Reply[] = [];
  #nextPatientAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: SearchSchedulerOptions) {
    this.#options = options;
    this.#line = new FairQueue(options.clock);
  }

  /**
   * Returns a fresh reply, else a position in the queue. `keptSince`: start of the object's wait, during which it
   * keeps what it found.
   */
  offers(asker: SearchRequester, want: SearchRequest, keptSince?: number): SearchAnswer {
    const key = queryKey(want.queries[0]);
    const reply = this.#reply(want, keptSince);
    const failure = this.#failures.get(asker.uid);
    this.#failures.delete(asker.uid);
    if (reply) {
      this.#remove(asker.uid);
      const { offers, begunAt } = reply;
      return { type: 'found', offers, begunAt, isShared: reply.key !== key };
    }
    if (failure?.key === key) return { type: 'failed', error: failure.error };
    const since = this.#line.get(asker.uid)?.since ?? this.#options.clock.monotonic();
    this.#line.put({ ...asker, ...want, since });
    this.#joinSearch(asker.uid, want);
    this.#pump();
    const begun = [...this.#inFlight].find(({ members }) => members.has(asker.uid));
    return { type: 'queued', ended: begun?.ended };
  }

  /** Returns true if there is a new answer to these queries for the object: a usable reply, or a failure. */
  hasAnswer(uid: string, want: SearchRequest, keptSince: number): boolean {
    return this.#failures.has(uid) || this.#reply(want, keptSince) !== undefined;
  }

  /** Offers of the whole market, searched only when no other search waits, and kept for `maxAgeMs`. */
  background(query: OfferQuery, maxAgeMs: number): SearchAnswer {
    const key = queryKey(query);
    const now = this.#options.clock.monotonic();
    const known = this.#replies.find((reply) => reply.key === key && now - reply.answeredAt < maxAgeMs);
    if (known) return { type: 'found', offers: known.offers, begunAt: known.begunAt, isShared: false };
    if (this.#background.size < MAX_BACKGROUND) this.#background.set(key, query);
    this.#pump();
    const begun = [...this.#inFlight].find((each) => each.key === key);
    return { type: 'queued', ended: begun?.ended };
  }

  /** Returns the place of an object that waits for a search; undefined if it does not wait. */
  waiting(uid: string): Waiting | undefined {
    return this.#line.get(uid);
  }

  /** Returns the milliseconds until the search of a queued object may begin. */
  waitMs(uid: string): number {
    const { pacer, clock } = this.#options;
    const patient = this.#line.get(uid)?.patient ? this.#nextPatientAt - clock.monotonic() : 0;
    return Math.max(0, patient, pacer.nextSlotMs('search'));
  }

  /** Removes an object from the queue. */
  leave(uid: string): void {
    this.#remove(uid);
    this.#failures.delete(uid);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #remove(uid: string): void {
    this.#line.remove(uid);
    this.#shares.delete(uid);
    for (const { members } of this.#inFlight) members.delete(uid);
  }

  #reply(
    { queries: [query], exact = false, askedAt = Number.NEGATIVE_INFINITY }: SearchRequest,
    keptSince: number | undefined,
  ): Reply | undefined {
    const key = queryKey(query);
    return this.#replies.find((reply) => {
      if (reply.begunAt < askedAt) return false;
      if (!this.#isFresh(reply, keptSince) || this.#isUsedUp(reply)) return false;
      return reply.key === key || (!exact && isComplete(reply) && reply.covers(query));
    });
  }

  #isFresh({ answeredAt }: Reply, keptSince = Number.POSITIVE_INFINITY): boolean {
    const age = this.#options.clock.monotonic() - answeredAt;
    return age < SEARCH_SHARED_MS || (age < SEARCH_KEPT_MS && keptSince <= answeredAt);
  }

  #isUsedUp({ begunAt, offers }: Reply): boolean {
    if (offers.length === 0 || this.#options.clock.monotonic() - begunAt < SEARCH_AGAIN_MS) return false;
    return offers.every(({ id }) => this.#options.isReserved(id));
  }

  /** Joins a running search that answers all queries of this object. */
  #joinSearch(uid: string, { queries: [query], exact }: SearchRequest): void {
    const key = queryKey(query);
    const isExact = exact || this.#shares.has(uid);
    const begun = [...this.#inFlight].find((each) => each.key === key || (!isExact && each.covers(query)));
    begun?.members.add(uid);
  }

  /** Begins the searches that may begin now, and sets the timer for the next step. */
  #pump(): void {
    if (this.#stopped) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const { clock, pacer } = this.#options;
    while (this.#inFlight.size < MAX_IN_FLIGHT) {
      const now = clock.monotonic();
      const busy = new Set([...this.#inFlight].flatMap(({ members }) => [...members]));
      const urgent = this.#nextUrgent(busy, now);
      const next = urgent ?? this.#line.next(({ uid }) => !busy.has(uid)) ?? this.#nextBackground();
      if (!next) return;
      const waitMs = Math.max(pacer.nextSlotMs('search'), urgent ? 0 : this.#nextPatientAt - now);
      if (waitMs > 0) {
        this.#timer = clock.setTimer(waitMs, () => this.#pump());
        return;
      }
      this.#beginNext(next, busy);
    }
  }

  /**
   * Returns the next object that does not wait for others: an urgent one, or at intervals a patient one that has
   * waited long.
   */
  #nextUrgent(busy: ReadonlySet<string>, now: number): Waiting | undefined {
    const isTurnOfPatient = now - this.#nextPatientAt >= PATIENT_MAX_MS - PATIENT_GAP_MS;
    const isOverdue = ({ since }: Waiting) => isTurnOfPatient && now - since >= PATIENT_MAX_MS;
    return this.#line.next((each) => !busy.has(each.uid) && (!each.patient || isOverdue(each)));
  }

  #nextBackground(): OfferQuery | undefined {
    const begun = new Set([...this.#inFlight].map(({ key }) => key));
    for (const [key, query] of this.#background) if (!begun.has(key)) return query;
    return undefined;
  }

  #beginNext(next: Waiting | OfferQuery, busy: ReadonlySet<string>): void {
    const isUrgent = 'uid' in next && !next.patient;
    if (!isUrgent) this.#nextPatientAt = this.#options.clock.monotonic() + PATIENT_GAP_MS;
    if ('uid' in next) this.#beginFor(this.#mostTelling(next, busy), busy);
    else this.#begin(next, new Set());
  }

  /**
   * Returns the object to search for first if the next object found nothing yet: among those of its namespace with
   * the same query, the one with the smallest disk. An empty reply answers all of them.
   */
  #mostTelling(next: Waiting, busy: ReadonlySet<string>): Waiting {
    const [query] = next.queries;
    if (next.exact || this.#shares.has(next.uid) || this.#findsWithOtherDisk(query)) return next;
    let first = next;
    for (const each of this.#line.members()) {
      if (each.namespace !== next.namespace || busy.has(each.uid)) continue;
      if (each.exact || this.#shares.has(each.uid) || each.askedAt !== next.askedAt) continue;
      if (isSmaller(each.queries[0], first.queries[0])) first = each;
    }
    return first;
  }

  /**
   * Returns true if a kept reply has offers for the query with another disk: then each disk is searched for separately,
   * in turn.
   */
  #findsWithOtherDisk(query: OfferQuery): boolean {
    return this.#replies.some((reply) => {
      const { storageGB } = reply.query;
      const withItsDisk = storageGB === undefined ? query : { ...query, storageGB };
      return reply.covers(withItsDisk) && mayHold(reply, withItsDisk);
    });
  }

  /** Begins the search of the next object, wide enough for all others in the queue that may share it. */
  #beginFor(next: Waiting, busy: ReadonlySet<string>): void {
    const { uid, namespace, queries, exact } = next;
    this.#line.served(namespace);
    if (exact === true || this.#shares.get(uid) === 1) {
      this.#begin(queries[0], new Set([uid]));
      return;
    }
    const base = baseOf(queries[0]);
    const sharers = this.#sharers(next, busy);
    const all = sharers.flatMap((each) => each.queries.filter((query) => baseOf(query) === base));
    // A single object searches for its first alternative, and for the others only if that finds nothing.
    const query = sharers.length > 1 ? coverOf(all) : queries[0];
    this.#begin(query, new Set(sharers.map((each) => each.uid)));
  }

  /**
   * Returns the objects that share the search of the next one: all, or the maximum number, objects with the same query
   * first.
   */
  #sharers(next: Waiting, busy: ReadonlySet<string>): readonly Waiting[] {
    const most = this.#shares.get(next.uid);
    const base = baseOf(next.queries[0]);
    const alike = [...this.#line.members()].filter(
      (each) =>
        !busy.has(each.uid) &&
        !each.exact &&
        this.#shares.get(each.uid) === most &&
        baseOf(each.queries[0]) === base,
    );
    if (most === undefined) return alike;
    const sorted = alike
      .map((each) => ({ each, key: queryKey(each.queries[0]) }))
      .sort((left, right) => (left.key < right.key ? -1 : 1))
      .map(({ each }) => each);
    const from = sorted.findIndex(({ uid }) => uid === next.uid);
    return [...sorted.slice(from), ...sorted.slice(0, from)].slice(0, most);
  }

  /** Halves the number of objects that share the next search, after one failed or its answer was incomplete. */
  #halve(uid: string, { begunFor }: InFlight): void {
    if (begunFor.has(uid)) this.#shares.set(uid, Math.max(1, Math.floor(begunFor.size / 2)));
  }

  #begin(query: OfferQuery, members: Set<string>): void {
    const begunAt = this.#options.clock.monotonic();
    const key = queryKey(query);
    const covers = coverageOf(query);
    const answer = this.#options.search(query);
    const ended = answer.then(
      (offers) => this.#answered({ query, key, covers, begunAt, offers }, flight),
      (error: unknown) => this.#failed(error, flight),
    );
    const flight: InFlight = { key, covers, ended, begunFor: new Set(members), members };
    this.#inFlight.add(flight);
  }

  #answered(reply: Omit<Reply, 'answeredAt'>, flight: InFlight): void {
    const isRuledOut = ruledOutBy(reply);
    const covers = eitherOf(reply.covers, isRuledOut);
    const known = { ...reply, covers, answeredAt: this.#options.clock.monotonic() };
    if (isComplete(known)) this.#joinRuledOut(known, isRuledOut, flight);
    const others = this.#replies.filter(({ key }) => key !== reply.key);
    this.#replies = [known, ...others].slice(0, MAX_REPLIES);
    this.#background.delete(reply.key);
    // The reply had too many rows: fewer of the objects that it may not have answered share the next search.
    const isWhole = isComplete(known);
    const answered = this.#waitingFor(flight).filter((waiting) => {
      const isAnswered = isWhole || queryKey(waiting.queries[0]) === reply.key;
      if (!isAnswered) this.#halve(waiting.uid, flight);
      return isAnswered;
    });
    // Objects that can rent come first, because hundreds that find nothing take seconds.
    const finds = ({ queries }: Waiting) => queries.some((query) => mayFind(query, known.offers));
    const finders = new Set(answered.length > 1 ? answered.filter(finds) : []);
    this.#end(flight, [...finders, ...answered.filter((each) => !finders.has(each))]);
  }

  /**
   * Answers all queued objects that find nothing by a complete reply, except those with a search in progress.
   */
  #joinRuledOut({ begunAt }: Reply, isRuledOut: Coverage, { members }: InFlight): void {
    const busy = new Set([...this.#inFlight].flatMap((each) => [...each.members]));
    for (const { uid, queries, exact, askedAt = Number.NEGATIVE_INFINITY } of this.#line.members()) {
      if (!busy.has(uid) && !exact && askedAt <= begunAt && isRuledOut(queries[0])) members.add(uid);
    }
  }

  #failed(error: unknown, flight: InFlight): void {
    this.#background.delete(flight.key);
    const kind = error instanceof MarketplaceError ? error.kind : undefined;
    if (kind === 'throttled') {
      this.#end(flight, []);
      return;
    }
    const answered = this.#waitingFor(flight).filter(({ uid, queries }) => {
      const key = queryKey(queries[0]);
      const isAnswered = kind !== 'invalidRequest' || key === flight.key;
      if (isAnswered) this.#failures.set(uid, { key, error });
      else this.#halve(uid, flight);
      return isAnswered;
    });
    this.#end(flight, answered);
  }

  /** Returns the queued objects in their order, fair to namespaces. */
  #waitingFor({ members }: InFlight): readonly Waiting[] {
    return [...this.#line.inOrder()].filter(({ uid }) => members.has(uid));
  }

  /** Ends a search: answered objects leave the queue and are called. */
  #end(flight: InFlight, answered: readonly Waiting[]): void {
    this.#inFlight.delete(flight);
    for (const { uid, wake } of answered) {
      this.#remove(uid);
      wake();
    }
    this.#pump();
    this.#options.onEnd();
  }
}

/**
 * Returns true if a reply may contain an offer for a query that it covers. All rows of an identical query match it.
 */
function mayHold({ key, offers }: Pick<Reply, 'key' | 'offers'>, query: OfferQuery): boolean {
  return queryKey(query) === key ? offers.length > 0 : mayFind(query, offers);
}

/**
 * Created outside the closure of the reply, which is kept for longer than the names of the objects that it answered.
 */
const eitherOf =
  (first: Coverage, second: Coverage): Coverage =>
  (query) =>
    first(query) || second(query);

/**
 * Queries that find nothing by a complete reply, which may contain offers for others: queries that it covers, also
 * with a larger disk, which costs more and fits on fewer machines. Results are cached, because the queue looks a
 * query up at each change.
 */
function ruledOutBy({ query: wide, key, offers }: Pick<Reply, 'query' | 'key' | 'offers'>): Coverage {
  const known = new WeakMap<OfferQuery, boolean>();
  const covers = emptinessOf(wide);
  const { storageGB: least } = wide;
  return (query) => {
    const before = known.get(query);
    if (before !== undefined) return before;
    const withItsDisk = least === undefined ? query : { ...query, storageGB: least };
    const isRuledOut = covers(query) && !mayHold({ key, offers }, withItsDisk);
    known.set(query, isRuledOut);
    return isRuledOut;
  };
}

/**
 * Returns true if the first query equals the second with a smaller disk, or is wider: if it finds nothing, the second
 * finds nothing either.
 */
function isSmaller(query: OfferQuery, than: OfferQuery): boolean {
  const { storageGB = 0 } = query;
  return storageGB < (than.storageGB ?? 0) && emptinessOf(query)(than);
}
