import type { Clock, Timer } from '../../lib/clock.ts';
import type { Offer, OfferQuery } from '../../market/offer.ts';
import { DOCUMENTED_GAPS_MS, type Pacer, type Slot } from '../../market/pacing.ts';
import { FairQueue } from './fair-queue.ts';
import {
  type SearchAnswer,
  type SearchRequest,
  type SearchRequester,
  SearchScheduler,
} from './search-scheduler.ts';

/** Position of a waiting object, and its expected wait. */
export interface QueuePosition {
  readonly for: 'search' | 'rental';
  /** Number of objects ahead of it. */
  readonly ahead: number;
  /** Milliseconds until its rental, as things are now. */
  readonly expectedMs: number;
  /** Milliseconds that it has waited. */
  readonly waitedMs: number;
  /** Rentals are serial, and another one is not settled. */
  readonly isSerial: boolean;
}

/** An object that requests a rental slot. */
export interface RentalRequester extends SearchRequester {
  /**
   * Returns true if its account may rent now, concurrently with other rentals; false while rentals are serial.
   */
  readonly mayRent: () => boolean;
}

export interface AdmissionQueueOptions {
  readonly clock: Clock;
  readonly pacer: Pacer;
  /** False with a simulator: slots are not spaced, so any number of objects may take one at the same time. */
  readonly paced: boolean;
  readonly search: (query: OfferQuery) => Promise<readonly Offer[]>;
  readonly isReserved: (offerId: string) => boolean;
}

interface Waiting extends RentalRequester {
  /** Search that found the offer of the object. */
  readonly want: SearchRequest | undefined;
  readonly since: number;
}

interface Joined {
  readonly generation: number;
  readonly since: number;
  /** Search by which it last found offers. */
  want: SearchRequest | undefined;
}

/** Time within which a called object normally returns; after it the queue also calls the next object. */
const CALL_MS = 2_000;
/** Time after which a called object that did not return is removed. */
const GONE_MS = 60_000;
/** Interval of checks for the end of a rental while rentals go one at a time. */
const SERIAL_RETRY_MS = 1_000;
/** Delay before the next attempt to take a free slot after an attempt failed. */
const BUSY_RETRY_MS = 250;
/** Number of objects that are called at once if slots are not spaced. */
const UNPACED_CALLS = 16;
/**
 * Number of next objects that the queue checks: for a fresh reply before their slot is free, and for permission to
 * rent.
 */
const MAX_CANDIDATES = 4;

/**
 * The queue of a login for searches and rental slots. Objects never poll it: the queue calls each object when its
 * answer or its slot is ready. A free slot goes to the first called object that returns, so no slot stays unused
 * while an object could use it. The order is fair to namespaces. The queue is lost with the process, and every object
 * requests again.
 */
export class AdmissionQueue {
  readonly #options: AdmissionQueueOptions;
  readonly #searches: SearchScheduler;
  readonly #line: FairQueue<Waiting>;
  readonly #joined = new Map<string, Joined>();
  /** Objects called to take a slot, with the time on `clock.monotonic()`. They also remain in the queue. */
  readonly #called = new Map<string, number>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: AdmissionQueueOptions) {
    this.#options = options;
    this.#line = new FairQueue(options.clock);
    this.#searches = new SearchScheduler({ ...options, onEnd: () => this.#pump() });
  }

  /**
   * Returns offers for the request, or the state of waiting for a search; the object is called when there is an
   * answer.
   */
  offers(asker: SearchRequester, want: SearchRequest): SearchAnswer {
    const joined = this.#join(asker);
    const waiting = this.#line.get(asker.uid);
    const answer = this.#searches.offers(asker, waiting ? urgent(want) : want, joined.since);
    // The object requests its alternatives one after another; the first request names them all.
    if (want.queries.length >= (joined.want?.queries.length ?? 0)) joined.want = want;
    if (waiting && answer.type === 'queued' && this.#called.delete(asker.uid)) {
      // The object is called again with the answer to this request, because the earlier reply did not help.
      this.#line.put({ ...waiting, want });
      this.#pump();
    }
    return answer;
  }

  /**
   * Offers that explain why nothing matches, at most `maxAgeMs` old; searched only when no other search waits.
   */
  explain(query: OfferQuery, maxAgeMs: number): SearchAnswer {
    return this.#searches.background(query, maxAgeMs);
  }

  /** Returns the position of this version of the object; undefined if it is not queued, or was called. */
  place(uid: string, generation: number): QueuePosition | undefined {
    const joined = this.#joined.get(uid);
    if (!joined) return undefined;
    if (joined.generation !== generation) {
      this.leave(uid);
      return undefined;
    }
    const waitedMs = this.#options.clock.monotonic() - joined.since;
    const waiting = this.#line.get(uid);
    if (waiting) {
      if (this.#called.has(uid)) return undefined;
      const ahead = this.#line.ahead(uid);
      const isSerial = !waiting.mayRent();
      return { for: 'rental', ahead, waitedMs, isSerial, expectedMs: this.#rentalMs(ahead) };
    }
    const searching = this.#searches.waiting(uid);
    if (!searching) return undefined;
    const ahead = this.#line.aheadOfNewcomer(searching.namespace);
    const expectedMs = Math.max(this.#searches.waitMs(uid), this.#rentalMs(ahead));
    return { for: 'search', ahead, waitedMs, isSerial: false, expectedMs };
  }

  /**
   * Returns a rental slot for an object that has chosen its offer. Returns undefined if the object must wait; the queue
   * calls it later. A slot is valid for `holdMs`.
   */
  takeSlot(asker: RentalRequester, holdMs: number): Slot | undefined {
    if (asker.mayRent() && this.#mayGo(asker.uid)) {
      const { pacer, paced } = this.#options;
      const slot = paced ? pacer.reserve('rent', holdMs) : FREE_SLOT;
      if (slot) {
        // A namespace that never waited also counts as served.
        this.#line.put({ ...asker, want: undefined, since: 0 });
        this.#line.served(asker.namespace);
        this.#forget(asker.uid);
        this.#pump();
        return slot;
      }
    }
    const { since, want } = this.#join(asker);
    this.#called.delete(asker.uid);
    this.#line.put({ ...asker, want, since });
    // A slot is free, but the maximum number of calls is in flight: an immediate call would be a hot loop.
    if (asker.mayRent() && this.#slotMs() <= 0) this.#pumpIn(BUSY_RETRY_MS);
    else this.#pump();
    return undefined;
  }

  /** Returns the number of waiting objects and the longest wait in milliseconds; 0 if none waits. */
  waiting(): { readonly count: number; readonly longestMs: number } {
    const now = this.#options.clock.monotonic();
    const waits = [...this.#joined.values()].map(({ since }) => now - since);
    return { count: waits.length, longestMs: Math.max(0, ...waits) };
  }

  /** Records that a slot was used or returned, or that serial rentals may have ended: the next object may be called. */
  slotEnded(): void {
    this.#pump();
  }

  /** Removes an object from the queue. */
  leave(uid: string): void {
    if (this.#forget(uid)) this.#pump();
  }

  /** Stops calling objects. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#searches.stop();
  }

  /** Removes the object; returns true if it was queued for a slot. */
  #forget(uid: string): boolean {
    this.#joined.delete(uid);
    this.#called.delete(uid);
    this.#searches.leave(uid);
    return this.#line.remove(uid);
  }

  #join({ uid, generation }: SearchRequester): Joined {
    const known = this.#joined.get(uid);
    if (known?.generation === generation) return known;
    this.#forget(uid);
    const joined = { generation, since: this.#options.clock.monotonic(), want: undefined };
    this.#joined.set(uid, joined);
    return joined;
  }

  /** Returns the milliseconds until the next rental slot. */
  #slotMs(): number {
    const { pacer, paced } = this.#options;
    return paced ? pacer.nextSlotMs('rent') : 0;
  }

  #rentalMs(ahead: number): number {
    return this.#options.paced ? this.#slotMs() + ahead * DOCUMENTED_GAPS_MS.rent : 0;
  }

  /**
   * Returns true if the object may take a free slot. A called object always may. Others may only if no called object
   * can still return.
   */
  #mayGo(uid: string): boolean {
    return this.#called.has(uid) || !this.#options.paced || this.#calledNow() === 0;
  }

  /** Returns the number of called objects that may still return. */
  #calledNow(): number {
    const now = this.#options.clock.monotonic();
    let called = 0;
    for (const calledAt of this.#called.values()) if (now - calledAt < CALL_MS) called += 1;
    return called;
  }

  /** Calls the next object if a slot is free for it, and sets the timer for the next step. */
  #pump(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#stopped) return;
    this.#forgetGone();
    this.#refreshNext();
    const waitMs = this.#slotMs();
    if (waitMs > 0) this.#pumpIn(waitMs);
    else this.#callUpTo((this.#options.paced ? 1 : UNPACED_CALLS) - this.#calledNow());
  }

  #callUpTo(count: number): void {
    for (let call = 0; call < count; call += 1) {
      const next = this.#callNext();
      if (!next) {
        this.#pumpIn(call === 0 ? SERIAL_RETRY_MS : CALL_MS);
        return;
      }
      next.wake();
    }
    this.#pumpIn(CALL_MS);
  }

  #callNext(): Waiting | undefined {
    let left = MAX_CANDIDATES;
    const next = this.#line.next(
      (each) => !this.#called.has(each.uid) && this.#hasAnswer(each) && left-- > 0 && each.mayRent(),
    );
    if (next) this.#called.set(next.uid, this.#options.clock.monotonic());
    return next;
  }

  #pumpIn(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#line.size > 0 && !this.#stopped)
      this.#timer = this.#options.clock.setTimer(delayMs, () => this.#pump());
  }

  #forgetGone(): void {
    const now = this.#options.clock.monotonic();
    for (const [uid, calledAt] of this.#called) if (now - calledAt >= GONE_MS) this.#forget(uid);
  }

  /** Searches again for the next objects whose reply is old, before their slot is free. */
  #refreshNext(): void {
    let left = MAX_CANDIDATES;
    for (const waiting of this.#line.inOrder()) {
      if (left-- === 0) return;
      const { uid, want } = waiting;
      if (!want || this.#hasAnswer(waiting) || this.#searches.waiting(uid)) continue;
      this.#searches.offers({ ...waiting, wake: () => {} }, urgent(want), waiting.since);
    }
  }

  #hasAnswer({ uid, want, since }: Waiting): boolean {
    return want === undefined || this.#searches.hasAnswer(uid, want, since);
  }
}

/**
 * Returns the urgent search of an object that found offers and is queued for its slot: a free slot waits for that
 * search.
 */
const urgent = (want: SearchRequest): SearchRequest => ({ ...want, patient: false });

/** Marks that no slot is kept: the call takes the next slot itself. */
const FREE_SLOT: Slot = { endpointClass: 'rent', expiresAt: Number.POSITIVE_INFINITY, release() {} };
