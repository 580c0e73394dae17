import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { AccountObjects } from './account-objects.ts';
import { SEARCH_KEPT_MS } from './queue/search-scheduler.ts';
import type { PendingRental } from './spend-limits.ts';

/** A ticket is worth nothing after this. */
export const TICKET_MS = 5_000;
/** A call that no record ever shows has come to something or to nothing by then, with the default times of a purchase. */
const UNSEEN_MS = 300_000;

/** Outcome of a ticket. Only `nothing` certainly costs nothing. */
type Outcome = 'asked' | 'called' | 'rented' | 'unknown' | 'nothing';

interface Grant {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly pricePerHour: MicroDollars;
  /** The newest rental on the object's record when it asked: a newer one is this one. */
  readonly recordedBefore: number;
  readonly outcome: Outcome;
  /** End on `clock.monotonic()` of the time for which the rental counts without a record. */
  readonly until: number;
}

/** Right of one object to rent, as on its ticket. */
export interface RentalGrant {
  /**
   * Marks the ticket as used before the call is sent. Returns true once, while the ticket is valid and the object has
   * not requested another.
   */
  use(): boolean;
  /** Records the outcome: a machine was rented, none was, or it is unknown. */
  settle(rented: boolean | 'unknown'): void;
}

/**
 * Rentals that were allowed and that no object's record shows in full yet, so that ten workers at once cannot all pass
 * a limit that leaves room for one. A call that was sent counts until the record of its object says what became of
 * it, however long that takes.
 */
export class PendingRentals {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, Grant>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the grant of an object that asks again: its last rental came to nothing, even if its record does not show it yet. */
  restart(objectUid: string): void {
    this.#byObject.set(objectUid, { ...NOTHING, at: this.#clock.now() });
  }

  /** Records a ticket for this object. `object`: its state in the account's cache. */
  begin(objectUid: string, pricePerHour: MicroDollars, object: InstanceSummary | undefined): RentalGrant {
    let grant: Grant = {
      at: this.#clock.now(),
      pricePerHour,
      recordedBefore: object?.newestRentalAt ?? 0,
      outcome: 'asked',
      until: this.#clock.monotonic() + TICKET_MS,
    };
    const becomes = (change: Partial<Grant>): boolean => {
      if (this.#byObject.get(objectUid) !== grant) return false;
      grant = { ...grant, ...change };
      this.#byObject.set(objectUid, grant);
      return true;
    };
    this.#byObject.set(objectUid, grant);
    return {
      use: () => {
        const now = this.#clock.monotonic();
        const isValid = grant.outcome === 'asked' && grant.until > now;
        return isValid && becomes({ outcome: 'called', until: now + UNSEEN_MS });
      },
      settle: (rented) => {
        becomes({ outcome: OUTCOMES[`${rented}`] });
      },
    };
  }

  /** Rentals that the records of these objects do not show in full yet. */
  pending(objects: Pick<AccountObjects, 'get'>): readonly PendingRental[] {
    if (this.#byObject.size === 0) return [];
    const now = this.#clock.monotonic();
    return [...this.#byObject].flatMap(([uid, grant]) => {
      const object = objects.get(uid);
      if (isOver(grant, object, now)) this.#byObject.delete(uid);
      return this.#byObject.has(uid) ? unshown(grant, object) : [];
    });
  }

  /**
   * Returns the uids of objects whose ticket is neither used nor expired. An object that uses its ticket has its intent
   * on record by then.
   */
  unused(): readonly string[] {
    const now = this.#clock.monotonic();
    return [...this.#byObject].flatMap(([uid, { outcome, until }]) =>
      outcome === 'asked' && until > now ? [uid] : [],
    );
  }

  /** Returns true if this process knows the cost of the rental that is open on this object's record. */
  knows(objectUid: string): boolean {
    return this.#byObject.has(objectUid);
  }

  /** Returns true if another object, or any if none is given, is between its ticket and its result. */
  hasUnsettled(objectUid: string | undefined): boolean {
    const now = this.#clock.monotonic();
    return [...this.#byObject].some(
      ([uid, { outcome, until }]) => uid !== objectUid && UNSETTLED.has(outcome) && until > now,
    );
  }
}

const NOTHING = { pricePerHour: 0, recordedBefore: 0, outcome: 'nothing', until: 0 } as const;
const UNSETTLED: ReadonlySet<Outcome> = new Set<Outcome>(['asked', 'called', 'unknown']);
const OUTCOMES = { true: 'rented', false: 'nothing', unknown: 'unknown' } as const;

/** Returns true if the object's record shows the intent of this grant, or more of it. */
function isRecorded({ recordedBefore }: Grant, object: InstanceSummary | undefined): boolean {
  return (object?.newestRentalAt ?? 0) > recordedBefore;
}

/**
 * Returns true if a grant no longer counts: an expired ticket, a call whose record is closed, or a failed rental that
 * no record shows any more.
 */
function isOver(grant: Grant, object: InstanceSummary | undefined, now: number): boolean {
  if (grant.outcome === 'nothing') return object?.hasOpenIntent !== true;
  if (grant.outcome === 'asked' || !isRecorded(grant, object)) return grant.until <= now;
  return object?.hasOpenIntent !== true;
}

/** Returns the part of a grant that the record of its object does not show. */
function unshown(grant: Grant, object: InstanceSummary | undefined): readonly PendingRental[] {
  const { at, pricePerHour, outcome } = grant;
  const recorded = isRecorded(grant, object);
  const isShown = outcome === 'nothing' || (recorded && (object?.pricePerHour ?? 0) > 0);
  return isShown ? [] : [{ at, pricePerHour, recorded }];
}

/** Request for a start. */
export interface StartRequest {
  readonly objectUid: string;
  /** Price of the running machine, disk included; undefined if the marketplace names none. */
  readonly pricePerHour: MicroDollars | undefined;
  /** Within how many milliseconds of its answer the machine has to run. */
  readonly timeoutMs: number;
}

interface PendingStart {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Price of the running machine. */
  readonly pricePerHour: MicroDollars;
  /** On `clock.monotonic()`; undefined while the call waits for its place or its answer. */
  readonly until: number | undefined;
}

/**
 * Starts that were allowed and that no object's record shows yet: a stopped machine is recorded at the price of its
 * disk, so that the rest of its price counts here until the start came to nothing, or the time is over within which it has
 * to run. What the record shows of the price is left out meanwhile, and ends nothing: it may be of before the stop.
 */
export class PendingStarts {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, PendingStart>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what to tell when the call was answered or given up. */
  begin({ objectUid, pricePerHour = 0, timeoutMs }: StartRequest): (started: boolean | 'unknown') => void {
    const start: PendingStart = { at: this.#clock.now(), pricePerHour, until: undefined };
    this.#byObject.set(objectUid, start);
    return (started) => {
      if (this.#byObject.get(objectUid) !== start) return;
      if (started === false) this.#byObject.delete(objectUid);
      else this.#byObject.set(objectUid, { ...start, until: this.#clock.monotonic() + timeoutMs });
    };
  }

  /** Returns the part of the prices of starting machines that the records of these objects do not show. */
  pending(objects: Pick<AccountObjects, 'get'>, exceptUid?: string): readonly PendingRental[] {
    if (this.#byObject.size === 0) return [];
    const now = this.#clock.monotonic();
    return [...this.#byObject].flatMap(([uid, start]) => {
      if ((start.until ?? now + 1) <= now) this.#byObject.delete(uid);
      if (!this.#byObject.has(uid) || uid === exceptUid) return [];
      return missingPrice(start, objects.get(uid));
    });
  }
}

/** Returns the part of a start that the record of its object does not show. */
function missingPrice(
  { at, pricePerHour }: PendingStart,
  object: InstanceSummary | undefined,
): readonly PendingRental[] {
  if (object?.instanceId === undefined) return [];
  const missing = pricePerHour - object.pricePerHour;
  return missing <= 0 ? [] : [{ at, pricePerHour: missing, recorded: true }];
}

/** A granted replacement that no rental followed is dropped by then: a destroy and its proof take less. */
const REPLACEMENT_MS = 180_000;

interface Replacement {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The machine that ends. */
  readonly instanceId: string | undefined;
  readonly pricePerHour: MicroDollars;
  /** On `clock.monotonic()`. */
  readonly until: number;
}

/**
 * Replacements that were granted and whose rental was not requested yet: the machine of each object counts no more, and
 * its rental counts already. Otherwise ten edits at once would end ten machines for the last rental of the hour.
 */
export class PendingReplacements {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, Replacement>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  grant(objectUid: string, instanceId: string | undefined, pricePerHour: MicroDollars): void {
    const until = this.#clock.monotonic() + REPLACEMENT_MS;
    this.#byObject.set(objectUid, { at: this.#clock.now(), instanceId, pricePerHour, until });
  }

  /** Ends the replacement: the object rents now, or keeps its machine. */
  end(objectUid: string): void {
    this.#byObject.delete(objectUid);
  }

  /** Returns the uids whose machine no longer counts, and the rentals that count instead. */
  pending(
    objects: Pick<AccountObjects, 'get'>,
    exceptUid: string,
  ): { readonly ending: readonly string[]; readonly rentals: readonly PendingRental[] } {
    const now = this.#clock.monotonic();
    for (const [uid, { until, instanceId }] of this.#byObject) {
      const present = objects.get(uid)?.instanceId;
      // Another machine is on record: the rental is over.
      if (until <= now || (present !== undefined && present !== instanceId)) this.#byObject.delete(uid);
    }
    const others = [...this.#byObject].filter(([uid]) => uid !== exceptUid);
    return {
      ending: others.map(([uid]) => uid),
      rentals: others.map(([, { at, pricePerHour }]) => ({ at, pricePerHour, recorded: false })),
    };
  }
}

interface Reservation {
  readonly objectUid: string;
  /** On `clock.monotonic()`. */
  readonly until: number;
}

/** Replies are remembered until their objects record them, which takes seconds. */
const MAX_ANSWERS = 256;

/** Machines that replies to rentals named, by object, until the records show them. */
export class RentalAnswers {
  readonly #objects = new Map<string, string>();

  /** Records that the reply to a rental of that object named this machine. */
  note(instanceId: string, objectUid: string): void {
    this.#objects.set(instanceId, objectUid);
    for (const oldest of this.#objects.keys()) {
      if (this.#objects.size <= MAX_ANSWERS) return;
      this.#objects.delete(oldest);
    }
  }

  /** Returns true if the reply to a rental of another object named this machine. */
  isOfOther(instanceId: string, objectUid: string): boolean {
    return (this.#objects.get(instanceId) ?? objectUid) !== objectUid;
  }
}

/** Longer than a search is kept, so that a taken offer is not chosen again from the same reply. */
export const RESERVATION_MS = SEARCH_KEPT_MS + 15_000;

/**
 * Reservations of offers of one marketplace by objects about to rent, over all its logins. They exist in memory only
 * and promise nothing: a marketplace may sell one offer to two processes. The later machine then fails at its ports,
 * and is replaced as `SoldToOther`.
 */
export class OfferReservations {
  readonly #clock: Clock;
  readonly #byOffer = new Map<string, Reservation>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Reserves the offer, or extends the reservation. Returns false if another object holds it. */
  reserve(offerId: string, objectUid: string): boolean {
    this.#forgetOld();
    const known = this.#byOffer.get(offerId);
    if (known && known.objectUid !== objectUid) return false;
    this.#byOffer.delete(offerId);
    this.#byOffer.set(offerId, { objectUid, until: this.#clock.monotonic() + RESERVATION_MS });
    return true;
  }

  release(offerId: string, objectUid: string): void {
    if (this.#byOffer.get(offerId)?.objectUid === objectUid) this.#byOffer.delete(offerId);
  }

  /** Returns true if some object holds the offer. */
  isReserved(offerId: string): boolean {
    const known = this.#byOffer.get(offerId);
    return known !== undefined && known.until > this.#clock.monotonic();
  }

  /** Returns true if another object than this one holds the offer. */
  isReservedByOther(offerId: string, objectUid: string): boolean {
    return this.isReserved(offerId) && this.#byOffer.get(offerId)?.objectUid !== objectUid;
  }

  /** Drops old reservations in order of their age: prolonging moves a reservation to the end. */
  #forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [offerId, held] of this.#byOffer) {
      if (held.until > now) return;
      this.#byOffer.delete(offerId);
    }
  }
}
