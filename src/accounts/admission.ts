import { reasons } from '../api/v1alpha1/reasons.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { Slot } from '../market/pacing.ts';
import type { AccountObjects } from './account-objects.ts';
import type { LabelEcho } from './feed-observer.ts';
import {
  type OfferReservations,
  PendingRentals,
  PendingReplacements,
  PendingStarts,
  type StartRequest,
  TICKET_MS,
} from './pending-rentals.ts';
import type { AdmissionQueue } from './queue/admission-queue.ts';
import {
  type AccountLimits,
  type AccountSums,
  type BrakeDecision,
  type BrakeSettings,
  type LimitRefusal,
  maxRentalPrice,
  mayRent,
  mayStart,
  type PendingRental,
  refusesUnknownPrice,
} from './spend-limits.ts';

export interface TicketRequest {
  readonly objectUid: string;
  readonly namespace: string;
  /** Version of the object for which the rental was decided: another version gets a new place in the queue. */
  readonly generation: number;
  /** Called when a rental slot is there, if none is now. */
  readonly wake: () => void;
  readonly offerId: string;
  /** Price of the offer, disk included; undefined if the marketplace names none. */
  readonly pricePerHour: MicroDollars | undefined;
}

/** Offers by id. */
export type OfferSet = Pick<ReadonlySet<string>, 'has'>;

/**
 * Reason why no rental may begin now. All but `OfferReserved`, which passes within a moment and is not worth a write,
 * are reasons of the catalogue. `Queued`: the object waits in the queue of its login and is called.
 */
export type TicketRefusal =
  | 'Queued'
  | 'OfferReserved'
  | 'AccountNotReady'
  | 'KeyTooNarrow'
  | 'Suspended'
  | LimitRefusal;

/**
 * The right to write one intent and to send one rental, valid for 5 s on the monotonic clock, so that
 * intents do not age in a queue.
 */
export interface Ticket {
  readonly type: 'ticket';
  readonly id: number;
  readonly objectUid: string;
  readonly offerId: string;
  /** The pacing place of the call; hand it to `instances.rent`. */
  readonly slot: Slot;
  /**
   * Marks the ticket as used, right before the call is sent. Returns false if the ticket has expired or was used: then the call must
   * not be sent.
   */
  use(): boolean;
  /**
   * Records that the call was answered or given up. Frees the offer if `rented` is false and, where rentals are serial,
   * the turn.
   */
  settle(result: { readonly rented: boolean | 'unknown' }): void;
}

export type TicketDecision =
  | Ticket
  | {
      readonly type: 'refused';
      readonly reason: TicketRefusal;
      readonly message: string;
      readonly retryAfterMs: number;
    };

export type StartDecision =
  | {
      readonly type: 'permitted';
      /**
       * Records that the call was answered or given up. If `started` is false its money no longer counts; else it
       * counts until a record shows it or its time is over.
       */
      settle(result: { readonly started: boolean | 'unknown' }): void;
    }
  | {
      readonly type: 'refused';
      readonly reason: TicketRefusal;
      readonly message: string;
      readonly retryAfterMs: number;
    };

/** A rental that is to take the place of its object's machine. */
export type ReplacementRequest = Pick<TicketRequest, 'objectUid' | 'offerId' | 'pricePerHour'>;

export type ReplacementDecision =
  | { readonly type: 'fits' }
  | Extract<TicketDecision, { readonly type: 'refused' }>;

/** Reason why the account as a whole may not rent; undefined if it may. */
export interface AccountRefusal {
  readonly reason: TicketRefusal;
  readonly message: string;
}

/** Facts of the account that admission reads at each request. */
export interface AdmissionOptions {
  readonly clock: Clock;
  /** The queue of the login, which has the rental slots. */
  readonly queue: Pick<AdmissionQueue, 'takeSlot' | 'slotEnded'>;
  readonly reservations: OfferReservations;
  readonly settings: BrakeSettings;
  readonly limits: () => AccountLimits;
  readonly refusal: () => AccountRefusal | undefined;
  /** `spec.suspend` of the account. */
  readonly isSuspended: () => boolean;
  readonly labelEcho: () => LabelEcho;
  /** True if another account of the same login is {@link Admission.isRenting}. */
  readonly isLoginRenting: () => boolean;
  readonly objects: () => AccountObjects;
  readonly sums: (objects: AccountObjects, beside: BesideRecords) => AccountSums;
}

/** Knowledge of this process that the records of objects do not show. */
export interface BesideRecords {
  /** Objects as they count in place of what their records say. */
  readonly instead: readonly InstanceSummary[];
  readonly pending: readonly PendingRental[];
}

interface UnderWay {
  readonly objects: AccountObjects;
  /** Summaries by uid, each in place of the recorded one. */
  readonly instead: Map<string, InstanceSummary>;
  readonly pending: readonly PendingRental[];
}

const RETRY_MS = 5_000;
const RESERVED_RETRY_MS = 1_000;
/** Short, for a person who has just changed a limit. */
const ASK_AGAIN_MS = 10_000;

/**
 * Admits the rentals and starts of one account: every rule in front of a purchase, in the order in which refusals are
 * reported. Answers at once, never waits.
 */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #pending: PendingRentals;
  readonly #starts: PendingStarts;
  readonly #replacements: PendingReplacements;
  #nextId = 1;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#pending = new PendingRentals(options.clock);
    this.#starts = new PendingStarts(options.clock);
    this.#replacements = new PendingReplacements(options.clock);
  }

  /** Admits a rental. A refused request reserves no offer; a queued one waits for its slot. */
  request(request: TicketRequest): TicketDecision {
    const { reservations, queue } = this.#options;
    this.#pending.restart(request.objectUid);
    const account = this.#afterReplacements(this.#underWay(), request.objectUid);
    // A request for a rental proves that the last one came to nothing, even if the record does not show it yet.
    change(account, request.objectUid, { hasOpenIntent: false });
    const refused =
      this.#accountRefusal() ??
      this.#unknownPriceRefusal(request) ??
      this.#brake(mayRent, this.#countedPrice(request, account.objects), account);
    if (refused) return refused;
    if (!reservations.reserve(request.offerId, request.objectUid)) {
      return refuse('OfferReserved', 'Another object is about to rent this offer.', RESERVED_RETRY_MS);
    }
    const { objectUid: uid, namespace, generation, wake } = request;
    const mayRentNow = () => this.#isAlone(request);
    const slot = queue.takeSlot({ uid, namespace, generation, wake, mayRent: mayRentNow }, TICKET_MS);
    if (slot) {
      this.#replacements.end(uid);
      return this.#issue(request, slot);
    }
    reservations.release(request.offerId, request.objectUid);
    return refuse('Queued', 'Other rentals of the login come first.', RETRY_MS);
  }

  /** Admits the start of a stopped machine by limits and credit, without slot or reservation. It counts at once. */
  requestStart(request: StartRequest): StartDecision {
    const account = this.#afterReplacements(this.#underWay(request.objectUid), request.objectUid);
    // A start needs the whole price of the machine, which includes the disk.
    change(account, request.objectUid, { pricePerHour: 0, unconfirmedPerHour: 0 });
    const pricePerHour = this.#countedPrice(request, account.objects);
    const refused = this.#accountRefusal() ?? this.#brake(mayStart, pricePerHour, account);
    if (refused) return refused;
    const settle = this.#starts.begin({ ...request, pricePerHour });
    return { type: 'permitted', settle: ({ started }) => settle(started) };
  }

  /**
   * Admits or refuses a rental that follows the end of the object's machine: the sums leave out that machine. A granted
   * request reserves the offer for the object. The ticket is requested later and may still be refused.
   */
  requestReplacement(request: ReplacementRequest): ReplacementDecision {
    const { objectUid, offerId } = request;
    this.#replacements.end(objectUid);
    const decision = this.mayReplace(request);
    if (decision.type === 'refused') return decision;
    if (!this.#options.reservations.reserve(offerId, objectUid))
      return refuse('OfferReserved', 'Another object is about to rent this offer.', RESERVED_RETRY_MS);
    const objects = this.#options.objects();
    const counted = this.#countedPrice(request, objects);
    this.#replacements.grant(objectUid, objects.get(objectUid)?.instanceId, counted);
    return decision;
  }

  /**
   * Decides like `requestReplacement`, but grants and reserves nothing. It counts the replacements that are about to be
   * carried out.
   */
  mayReplace(
    { objectUid, pricePerHour }: ReplacementRequest,
    beside: readonly ReplacementRequest[] = [],
  ): ReplacementDecision {
    const account = this.#afterReplacements(this.#underWay(objectUid), objectUid);
    for (const { objectUid: uid } of [...beside, { objectUid }]) change(account, uid, WITHOUT_MACHINE);
    const now = this.#options.clock.now();
    const others = beside.map((other) => ({
      ...{ at: now, recorded: false },
      pricePerHour: this.#countedPrice(other, account.objects),
    }));
    const counted = this.#countedPrice({ objectUid, pricePerHour }, account.objects);
    const refused =
      this.#accountRefusal() ??
      this.#unknownPriceRefusal({ pricePerHour }) ??
      this.#brake(mayRent, counted, { ...account, pending: [...account.pending, ...others] });
    return refused ?? { type: 'fits' };
  }

  /** Offers that other objects have reserved. */
  reservedFor(objectUid: string): OfferSet {
    return { has: (offerId) => this.#options.reservations.isReservedByOther(offerId, objectUid) };
  }

  /** Returns the uids of objects that may rent by a ticket, and whose intent may not be on record yet. */
  rentingFor(): readonly string[] {
    return this.#pending.unused();
  }

  /** Returns true if a rental of this account may still make a machine that no record shows. */
  isRenting(): boolean {
    return this.#isRentingBeside(undefined);
  }

  /** Sums with the rentals and starts under way, for status and metrics. */
  sums(): AccountSums {
    return this.#sumsOf(this.#underWay());
  }

  /**
   * Returns the account in its worst case. It counts what this process allowed and no record shows yet, and, at its
   * maximum cost, each rental that is open on a record and unknown to this process (as after a restart).
   */
  #underWay(startingUid?: string): UnderWay {
    const { limits, settings } = this.#options;
    const objects = this.#options.objects();
    const pending = [...this.#pending.pending(objects), ...this.#starts.pending(objects, startingUid)];
    const unknown = (object: InstanceSummary) =>
      object.hasUnknownPrice || (object.hasOpenIntent && !this.#pending.knows(object.uid));
    const account = limits();
    const most = ({ pricePerHour, maxPrice }: InstanceSummary) =>
      Math.max(pricePerHour, maxRentalPrice(maxPrice, account, settings.maxDollarsPerHour));
    const undecided = objects.undecided().filter(unknown);
    const instead = new Map(
      undecided.map((object) => [object.uid, { ...object, pricePerHour: most(object) }] as const),
    );
    return { objects, instead, pending };
  }

  /** Returns the account after the granted replacements of other objects. */
  #afterReplacements(account: UnderWay, exceptUid: string): UnderWay {
    const { ending, rentals } = this.#replacements.pending(account.objects, exceptUid);
    for (const uid of ending) change(account, uid, WITHOUT_MACHINE);
    return { ...account, pending: [...account.pending, ...rentals] };
  }

  #sumsOf({ objects, instead, pending }: UnderWay): AccountSums {
    return this.#options.sums(objects, { instead: [...instead.values()], pending });
  }

  /** True if the account refuses every rental and start, as `spec.suspend` says. */
  get isSuspended(): boolean {
    return this.#options.isSuspended();
  }

  #accountRefusal(): Refused | undefined {
    if (this.isSuspended) return refuse('Suspended', reasons.Suspended.sentence, ASK_AGAIN_MS);
    const refusal = this.#options.refusal();
    return refusal && refuse(refusal.reason, refusal.message, RETRY_MS);
  }

  /** Returns the price at which a request counts: its own, or its maximum if it is unknown; never 0. */
  #countedPrice(
    { objectUid, pricePerHour }: Pick<TicketRequest, 'objectUid' | 'pricePerHour'>,
    objects: AccountObjects,
  ): MicroDollars {
    const { limits, settings } = this.#options;
    const maxPrice = objects.get(objectUid)?.maxPrice;
    return pricePerHour ?? maxRentalPrice(maxPrice, limits(), settings.maxDollarsPerHour);
  }

  #unknownPriceRefusal({ pricePerHour }: Pick<TicketRequest, 'pricePerHour'>): Refused | undefined {
    const limits = this.#options.limits();
    if (pricePerHour !== undefined || !refusesUnknownPrice(limits)) return undefined;
    const message =
      'The offer names no price. The account sets limits.maxPricePerHour, and limits.allowUnknownPrice is not set.';
    return refuse('AtLimit', message, ASK_AGAIN_MS);
  }

  #brake(rule: typeof mayRent, pricePerHour: MicroDollars, account: UnderWay): Refused | undefined {
    const { limits, settings, clock } = this.#options;
    const decision: BrakeDecision = rule({
      sums: this.#sumsOf(account),
      limits: limits(),
      settings,
      pricePerHour,
      now: clock.now(),
    });
    return decision.type === 'fits'
      ? undefined
      : refuse(decision.reason, decision.message, decision.retryAfterMs);
  }

  /**
   * Returns true if labels are known to be echoed, or no other rental of the login is open: without them one rental
   * must be settled before the next begins.
   */
  #isAlone(request: TicketRequest): boolean {
    if (this.#options.labelEcho() === 'echoed') return true;
    return !this.#isRentingBeside(request.objectUid) && !this.#options.isLoginRenting();
  }

  /** Returns true if another rental is open. A new request of an object proves that its own last rental failed. */
  #isRentingBeside(askerUid: string | undefined): boolean {
    const isOpen = ({ uid, hasOpenIntent, hasDoubtfulIntent }: InstanceSummary) =>
      hasDoubtfulIntent || (hasOpenIntent && uid !== askerUid);
    return this.#options.objects().undecided().some(isOpen) || this.#pending.hasUnsettled(askerUid);
  }

  #issue(request: TicketRequest, slot: Slot): Ticket {
    const id = this.#nextId++;
    const { objectUid, offerId } = request;
    const objects = this.#options.objects();
    const counted = this.#countedPrice(request, objects);
    const grant = this.#pending.begin(objectUid, counted, objects.get(objectUid));
    return {
      type: 'ticket',
      id,
      objectUid,
      offerId,
      slot,
      use: () => grant.use(),
      settle: ({ rented }) => {
        slot.release();
        grant.settle(rented);
        if (rented === false) this.#options.reservations.release(offerId, objectUid);
        this.#options.queue.slotEnded();
      },
    };
  }
}

/** An object whose machine has ended. */
const WITHOUT_MACHINE = {
  ...{ hasOpenIntent: false, instanceId: undefined },
  ...{ pricePerHour: 0, unconfirmedPerHour: 0 },
} as const;

/** Applies changes to an object, if it counts at all. */
function change({ objects, instead }: UnderWay, uid: string, changes: Partial<InstanceSummary>): void {
  const object = instead.get(uid) ?? objects.get(uid);
  if (object) instead.set(uid, { ...object, ...changes });
}

type Refused = Extract<TicketDecision, { type: 'refused' }>;

function refuse(reason: TicketRefusal, message: string, retryAfterMs: number): Refused {
  return { type: 'refused', reason, message, retryAfterMs };
}
