import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { Offer } from '../market/offer.ts';
import type { AccountObjects } from './account-objects.ts';
import { SEARCH_KEPT_MS } from './queue/search-scheduler.ts';
import type { PendingRental } from './spend-limits.ts';

/** Validity of a ticket. */
export const TICKET_MS = 5_000;
/** Time after which a call without a record counts as settled, with the default times of a purchase. */
const UNSEEN_MS = 300_000;

/** Outcome of a ticket. Only `nothing` certainly costs nothing. */
type Outcome = 'asked' | 'called' | 'rented' | 'unknown' | 'nothing';

interface Grant {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly namespace: string;
  readonly pricePerHour: MicroDollars;
  /** Newest rental on the object's record at the request; a newer one is this rental. */
  readonly recordedBefore: number;
  readonly outcome: Outcome;
  /** Monotonic milliseconds until which the rental counts without a record. */
  readonly until: number;
}

/** A rental that is about to begin. */
export interface RentalOf {
  readonly objectUid: string;
  readonly namespace: string;
  readonly pricePerHour: MicroDollars;
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
 * Admitted rentals that no object's record shows completely yet. They prevent ten concurrent workers from all passing
 * a limit that allows one more machine. A sent call counts until its object's record shows the outcome, however long
 * that takes.
 */
export class PendingRentals {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, Grant>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Ends the grant of an object that requests again: its last rental failed, even if its record does not show that
   * yet.
   */
  restart(objectUid: string): void {
    this.#byObject.set(objectUid, { ...NOTHING, at: this.#clock.now() });
  }

  /** Records a ticket for this object. `object`: its state in the account's cache. */
  begin({ objectUid, namespace, pricePerHour }: RentalOf, object: InstanceSummary | undefined): RentalGrant {
    let grant: Grant = {
      at: this.#clock.now(),
      namespace,
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

  /** Returns the rentals that the records of these objects do not show completely yet. */
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
   * Returns the uids of objects whose ticket is neither used nor expired. An object that uses its ticket has recorded
   * its intent before.
   */
  unused(): readonly string[] {
    const now = this.#clock.monotonic();
    return [...this.#byObject].flatMap(([uid, { outcome, until }]) =>
      outcome === 'asked' && until > now ? [uid] : [],
    );
  }

  /** Returns true if this process knows the cost of the open rental in this object's record. */
  knows(objectUid: string): boolean {
    return this.#byObject.has(objectUid);
  }

  /**
   * Returns true if a rental of another object (or of any object, if no uid is given) is between ticket and result.
   */
  hasUnsettled(objectUid: string | undefined): boolean {
    const now = this.#clock.monotonic();
    return [...this.#byObject].some(
      ([uid, { outcome, until }]) => uid !== objectUid && UNSETTLED.has(outcome) && until > now,
    );
  }
}

const NOTHING = { namespace: '', pricePerHour: 0, recordedBefore: 0, outcome: 'nothing', until: 0 } as const;
const UNSETTLED: ReadonlySet<Outcome> = new Set<Outcome>(['asked', 'called', 'unknown']);
const OUTCOMES = { true: 'rented', false: 'nothing', unknown: 'unknown' } as const;

/** Returns true if the object's record shows the intent of this grant, or more of it. */
function isRecorded({ recordedBefore }: Grant, object: InstanceSummary | undefined): boolean {
  return (object?.newestRentalAt ?? 0) > recordedBefore;
}

/**
 * Returns true if a grant no longer counts: an expired ticket, a call whose record is closed, or a failed rental that
 * is no longer in a record.
 */
function isOver(grant: Grant, object: InstanceSummary | undefined, now: number): boolean {
  if (grant.outcome === 'nothing') return object?.hasOpenIntent !== true;
  if (grant.outcome === 'asked' || !isRecorded(grant, object)) return grant.until <= now;
  return object?.hasOpenIntent !== true;
}

/** Returns the part of a grant that the record of its object does not show. */
function unshown(grant: Grant, object: InstanceSummary | undefined): readonly PendingRental[] {
  const { at, namespace, pricePerHour, outcome } = grant;
  const recorded = isRecorded(grant, object);
  const isShown = outcome === 'nothing' || (recorded && (object?.pricePerHour ?? 0) > 0);
  return isShown ? [] : [{ at, namespace, pricePerHour, recorded }];
}

/** Request for a start. */
export interface StartRequest {
  readonly objectUid: string;
  readonly namespace: string;
  /** Price of the running machine, disk included; undefined if the marketplace names none. */
  readonly pricePerHour: MicroDollars | undefined;
  /** Within how many milliseconds of its answer the machine has to run. */
  readonly timeoutMs: number;
}

interface PendingStart {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly namespace: string;
  /** Price of the running machine; 0 if the start failed. */
  readonly pricePerHour: MicroDollars;
  /** On `clock.monotonic()`; undefined while the call waits for its place or its answer. */
  readonly until: number | undefined;
}

/**
 * Allowed starts that no object's record shows yet. A stopped machine is recorded at the price of its disk. The rest
 * of its price counts here until the start fails, or until the time has passed within which it has to run. The part
 * of the price that the record shows is subtracted but does not end the entry, since it may date from before the
 * stop. An entry that no longer counts remains known while its request is in the record.
 */
export class PendingStarts {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, PendingStart>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns a function to call when the call was answered or abandoned. */
  begin({
    objectUid,
    namespace,
    pricePerHour = 0,
    timeoutMs,
  }: StartRequest): (started: boolean | 'unknown') => void {
    const start: PendingStart = { at: this.#clock.now(), namespace, pricePerHour, until: undefined };
    this.#byObject.set(objectUid, start);
    return (started) => {
      if (this.#byObject.get(objectUid) !== start) return;
      const now = this.#clock.monotonic();
      if (started === false) this.#byObject.set(objectUid, { ...start, pricePerHour: 0, until: now });
      else this.#byObject.set(objectUid, { ...start, until: now + timeoutMs });
    };
  }

  /** Returns true if this process requested the start that is on record for the object. */
  knows(objectUid: string): boolean {
    return this.#byObject.has(objectUid);
  }

  /** Returns the part of the prices of starting machines that the records of these objects do not show. */
  pending(objects: Pick<AccountObjects, 'get'>, exceptUid?: string): readonly PendingRental[] {
    if (this.#byObject.size === 0) return [];
    const now = this.#clock.monotonic();
    return [...this.#byObject].flatMap(([uid, start]) => {
      const object = objects.get(uid);
      const isOver = start.until !== undefined && start.until <= now;
      if (isOver && object?.hasOpenStart !== true) this.#byObject.delete(uid);
      return isOver || uid === exceptUid ? [] : missingPrice(start, object);
    });
  }
}

/** Returns the part of a start that the record of its object does not show. */
function missingPrice(
  { at, namespace, pricePerHour }: PendingStart,
  object: InstanceSummary | undefined,
): readonly PendingRental[] {
  if (object?.instanceId === undefined) return [];
  const missing = pricePerHour - object.pricePerHour;
  return missing <= 0 ? [] : [{ at, namespace, pricePerHour: missing, recorded: true }];
}

/** Time after which a granted replacement without a rental is dropped: a destroy and its proof take less. */
const REPLACEMENT_MS = 180_000;

interface Replacement {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly namespace: string;
  /** The machine that ends. */
  readonly instanceId: string | undefined;
  readonly pricePerHour: MicroDollars;
  /** On `clock.monotonic()`. */
  readonly until: number;
}

/**
 * Granted replacements whose rental was not requested yet. The machine of each object no longer counts, but its
 * rental does. Otherwise ten simultaneous edits would end ten machines although the hourly limit allows one more
 * rental.
 */
export class PendingReplacements {
  readonly #clock: Clock;
  readonly #byObject = new Map<string, Replacement>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  grant({ objectUid, namespace, pricePerHour }: RentalOf, instanceId: string | undefined): void {
    const until = this.#clock.monotonic() + REPLACEMENT_MS;
    const at = this.#clock.now();
    this.#byObject.set(objectUid, { at, namespace, instanceId, pricePerHour, until });
  }

  /** Ends the replacement: the object rents now, or keeps its machine. */
  end(objectUid: string): void {
    this.#byObject.delete(objectUid);
  }

  /** Returns the uids whose machine no longer counts, and the rentals that count instead. */
  pending(
    objects: Pick<AccountObjects, 'get'>,
    exceptUid: string | undefined,
  ): { readonly ending: readonly string[]; readonly rentals: readonly PendingRental[] } {
    const now = this.#clock.monotonic();
    for (const [uid, { until, instanceId }] of this.#byObject) {
      const present = objects.get(uid)?.instanceId;
      // The record names another machine, so the rental is complete.
      if (until <= now || (present !== undefined && present !== instanceId)) this.#byObject.delete(uid);
    }
    const others = [...this.#byObject].filter(([uid]) => uid !== exceptUid);
    return {
      ending: others.map(([uid]) => uid),
      rentals: others.map(([, { at, namespace, pricePerHour }]) => {
        return { at, namespace, pricePerHour, recorded: false };
      }),
    };
  }
}

interface Reservation {
  readonly objectUid: string;
  /** On `clock.monotonic()`. */
  readonly until: number;
  /** When the rental was answered, on `clock.monotonic()`; undefined before. */
  readonly rentedAt?: number;
}

interface Stock {
  readonly count: number;
  /** Begin of the search that showed it, on `clock.monotonic()`. */
  readonly shownAt: number;
}

/** Replies are kept until their objects record them, which takes seconds. */
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

/** Longer than a search is kept, so that a sold offer is not chosen again from the same reply. */
export const RESERVATION_MS = SEARCH_KEPT_MS + 15_000;

/**
 * Reservations of offers of one marketplace by objects that are about to rent, over all its logins. They exist in
 * memory only and guarantee nothing: a marketplace may sell one offer to two processes. The later machine then fails
 * at its ports, and is replaced as `SoldToOther`. An offer is one machine, unless a search shows its stock: then as
 * many objects may reserve it.
 */
export class OfferReservations {
  readonly #clock: Clock;
  readonly #byOffer = new Map<string, readonly Reservation[]>();
  readonly #stock = new Map<string, Stock>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Reserves the offer, or extends the reservation. Returns false if other objects have reserved all of it. */
  reserve(offerId: string, objectUid: string): boolean {
    this.#forgetOld();
    if (this.isReservedByOther(offerId, objectUid)) return false;
    const until = this.#clock.monotonic() + RESERVATION_MS;
    const others = this.#holders(offerId, objectUid);
    this.#byOffer.delete(offerId);
    this.#hold(offerId, [...others, { objectUid, until }]);
    return true;
  }

  release(offerId: string, objectUid: string): void {
    this.#hold(offerId, this.#holders(offerId, objectUid));
  }

  /** Records that the rental of a reserved offer was answered: a stock that is shown later lacks that machine. */
  rented(offerId: string, objectUid: string): void {
    const rentedAt = this.#clock.monotonic();
    const held = this.#holders(offerId).map((each) =>
      each.objectUid === objectUid ? { ...each, rentedAt } : each,
    );
    this.#hold(offerId, held);
  }

  /** Learns the stock of offers from a search that was begun at `begunAt`, on `clock.monotonic()`. */
  shown(offers: readonly Pick<Offer, 'id' | 'stock'>[], begunAt: number): void {
    for (const { id, stock } of offers) {
      if (stock === undefined || (this.#stock.get(id)?.shownAt ?? begunAt) > begunAt) continue;
      this.#stock.set(id, { count: stock, shownAt: begunAt });
      this.#hold(
        id,
        this.#holders(id).filter(({ rentedAt = begunAt }) => rentedAt >= begunAt),
      );
    }
    for (const [id, { shownAt }] of this.#stock)
      if (shownAt <= begunAt - RESERVATION_MS) this.#stock.delete(id);
  }

  /** Returns true if objects have reserved the whole offer. */
  isReserved(offerId: string): boolean {
    return this.#holders(offerId).length >= this.#stockOf(offerId);
  }

  /**
   * Returns true if other objects have reserved the whole offer. `promised`: number of earlier rentals of it.
   */
  isReservedByOther(offerId: string, objectUid: string, promised = 0): boolean {
    return this.#holders(offerId, objectUid).length + promised >= this.#stockOf(offerId);
  }

  /** Returns the present reservations of the offer, without those of one object. */
  #holders(offerId: string, exceptUid?: string): readonly Reservation[] {
    const now = this.#clock.monotonic();
    const held = this.#byOffer.get(offerId) ?? [];
    return held.filter(({ objectUid, until }) => objectUid !== exceptUid && until > now);
  }

  #hold(offerId: string, holders: readonly Reservation[]): void {
    if (holders.length === 0) this.#byOffer.delete(offerId);
    else this.#byOffer.set(offerId, holders);
  }

  #stockOf(offerId: string): number {
    return this.#stock.get(offerId)?.count ?? 1;
  }

  /** Drops old reservations in order of their age: prolonging moves an offer to the end. */
  #forgetOld(): void {
    for (const offerId of this.#byOffer.keys()) {
      const held = this.#holders(offerId);
      this.#hold(offerId, held);
      if (held.length > 0) return;
    }
  }
}
