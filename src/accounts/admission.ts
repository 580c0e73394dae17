import { reasons } from '../api/v1alpha1/reasons.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { Slot } from '../market/pacing.ts';
import type { AccountObjects } from './account-objects.ts';
import type { BudgetRefusal } from './budget-rules.ts';
import type { LabelEcho } from './feed-observer.ts';
import type { BudgetRequest } from './namespace-budgets.ts';
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
  type BesideRecords,
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
  /** Version of the object for which the rental was decided. A changed version joins the queue again. */
  readonly generation: number;
  /** Called when a rental slot becomes free, if none is free now. */
  readonly wake: () => void;
  readonly offerId: string;
  /** Price of the offer, disk included; undefined if the marketplace names none. */
  readonly pricePerHour: MicroDollars | undefined;
}

/** Offers that objects hold. */
export interface HeldOffers {
  /** Returns true if no machine of the offer is left. `promised`: number of earlier rentals of the offer. */
  has(offerId: string, promised?: number): boolean;
}

/**
 * Reason why no rental may begin now. All are reasons of the catalogue except `OfferReserved`, which passes quickly
 * and is not written. `Queued`: the object waits in the queue of its login, which wakes it.
 */
export type TicketRefusal =
  | 'Queued'
  | 'OfferReserved'
  | 'AccountNotReady'
  | 'KeyTooNarrow'
  | 'Suspended'
  | 'BudgetReached'
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
  /** Records the result of the call and ends its slot. Releases the offer if `rented` is false. */
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
       * Records that the call was answered or abandoned. If `started` is false, its cost no longer counts; else it
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

/** A rental that replaces the machine of its object. */
export type ReplacementRequest = Pick<TicketRequest, 'objectUid' | 'namespace' | 'offerId' | 'pricePerHour'>;

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
  /** Returns the refusal by a budget of the namespace, which counts all accounts. */
  readonly budgets: { refusal(request: BudgetRequest): BudgetRefusal | undefined };
}

/** A request, with the price that counts for limits. */
interface Counted extends Pick<TicketRequest, 'namespace'> {
  readonly pricePerHour: MicroDollars;
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
 * Admits the rentals and starts of one account. Applies every rule before a purchase, in the order in which refusals
 * are reported. Returns immediately.
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
    // A request for a rental proves that the last one created no machine, even if the record does not show it yet.
    change(account, request.objectUid, { hasOpenIntent: false });
    const refused =
      this.#accountRefusal() ??
      this.#unknownPriceRefusal(request) ??
      this.#brake(
        mayRent,
        { ...request, pricePerHour: this.#countedPrice(request, account.objects) },
        account,
      );
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
    const refused = this.#accountRefusal() ?? this.#brake(mayStart, { ...request, pricePerHour }, account);
    if (refused) return refused;
    this.#replacements.end(request.objectUid);
    const settle = this.#starts.begin({ ...request, pricePerHour });
    return { type: 'permitted', settle: ({ started }) => settle(started) };
  }

  /**
   * Admits or refuses a rental that follows the end of the object's machine. The sums exclude that machine. A granted
   * request reserves the offer for the object. The ticket is requested later and may still be refused.
   */
  requestReplacement(request: ReplacementRequest): ReplacementDecision {
    const { objectUid, namespace, offerId } = request;
    this.#replacements.end(objectUid);
    const decision = this.mayReplace(request);
    if (decision.type === 'refused') return decision;
    if (!this.#options.reservations.reserve(offerId, objectUid))
      return refuse('OfferReserved', 'Another object is about to rent this offer.', RESERVED_RETRY_MS);
    const objects = this.#options.objects();
    const counted = this.#countedPrice(request, objects);
    const rental = { objectUid, namespace, pricePerHour: counted };
    this.#replacements.grant(rental, objects.get(objectUid)?.instanceId);
    return decision;
  }

  /** Decides like `requestReplacement`, but grants and reserves nothing. It counts the granted replacements. */
  mayReplace(
    { objectUid, namespace, pricePerHour }: ReplacementRequest,
    beside: readonly ReplacementRequest[] = [],
  ): ReplacementDecision {
    const account = this.#afterReplacements(this.#underWay(objectUid), objectUid);
    for (const { objectUid: uid } of [...beside, { objectUid }]) change(account, uid, WITHOUT_MACHINE);
    const now = this.#options.clock.now();
    const others = beside.map((other) => ({
      ...{ at: now, namespace: other.namespace, recorded: false },
      pricePerHour: this.#countedPrice(other, account.objects),
    }));
    const counted = this.#countedPrice({ objectUid, pricePerHour }, account.objects);
    const refused =
      this.#accountRefusal() ??
      this.#unknownPriceRefusal({ pricePerHour }) ??
      this.#brake(
        mayRent,
        { namespace, pricePerHour: counted },
        { ...account, pending: [...account.pending, ...others] },
      );
    return refused ?? { type: 'fits' };
  }

  /** Returns the offers that other objects have reserved. */
  reservedFor(objectUid: string): HeldOffers {
    const { reservations } = this.#options;
    return { has: (offerId, promised) => reservations.isReservedByOther(offerId, objectUid, promised) };
  }

  /** Returns the uids of objects that may rent by a ticket, and whose intent may not be on record yet. */
  rentingFor(): readonly string[] {
    return this.#pending.unused();
  }

  /** Returns true if a rental of this account may still create a machine that no record shows. */
  isRenting(): boolean {
    return this.#isRentingBeside(undefined);
  }

  /** Returns the sums including rentals and starts in progress, for status and metrics. */
  sums(): AccountSums {
    return this.#sumsOf(this.#underWay());
  }

  /**
   * Returns the account's maximum possible spending. It includes everything that this process admitted and no record
   * shows yet. Machines without a known price, and open rentals that this process does not know (as after a restart),
   * count at their maximum price; such starts count at the price of their offers.
   */
  #underWay(startingUid?: string): UnderWay {
    const objects = this.#options.objects();
    const pending = [...this.#pending.pending(objects), ...this.#starts.pending(objects, startingUid)];
    const limits = this.#options.limits();
    const instead = new Map(
      objects.undecided().flatMap((object) => {
        const pricePerHour = this.#openPrice(object, limits);
        return pricePerHour === undefined ? [] : [[object.uid, { ...object, pricePerHour }] as const];
      }),
    );
    return { objects, instead, pending };
  }

  /**
   * Returns the price at which an object counts if neither its record nor this process knows it; else undefined.
   */
  #openPrice(object: InstanceSummary, limits: AccountLimits): MicroDollars | undefined {
    const { uid, hasUnknownPrice, hasOpenIntent, hasOpenStart, offerPrice } = object;
    const most = maxRentalPrice(object.maxPrice, limits, this.#options.settings.maxDollarsPerHour);
    if (hasUnknownPrice || (hasOpenIntent && !this.#pending.knows(uid)))
      return Math.max(object.pricePerHour, most);
    if (hasOpenStart && !this.#starts.knows(uid)) return Math.max(object.pricePerHour, offerPrice ?? most);
    return undefined;
  }

  /** Returns the account after the granted replacements of other objects. */
  #afterReplacements(account: UnderWay, exceptUid: string | undefined): UnderWay {
    const { ending, rentals } = this.#replacements.pending(account.objects, exceptUid);
    for (const uid of ending) change(account, uid, WITHOUT_MACHINE);
    return { ...account, pending: [...account.pending, ...rentals] };
  }

  /**
   * Returns admitted spending that no record shows, with the granted replacements, for a sum over several accounts.
   */
  besideRecords(): BesideRecords {
    return besideOf(this.#afterReplacements(this.#underWay(), undefined));
  }

  /** Returns true if the object counts for this account. */
  counts(objectUid: string): boolean {
    return this.#options.objects().get(objectUid) !== undefined;
  }

  #sumsOf(account: UnderWay): AccountSums {
    return this.#options.sums(account.objects, besideOf(account));
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

  /**
   * Returns the price at which a request counts: its price, or its maximum price if that is unknown; never 0.
   */
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

  /** Decides by the limits of the account, and then by the budgets of the namespace. */
  #brake(rule: typeof mayRent, { namespace, pricePerHour }: Counted, account: UnderWay): Refused | undefined {
    const { limits, settings, clock, budgets } = this.#options;
    const decision: BrakeDecision = rule({
      sums: this.#sumsOf(account),
      limits: limits(),
      settings,
      pricePerHour,
      now: clock.now(),
    });
    if (decision.type !== 'fits') return refuse(decision.reason, decision.message, decision.retryAfterMs);
    const refusal = budgets.refusal({ namespace, pricePerHour, asker: this, beside: besideOf(account) });
    return refusal && refuse('BudgetReached', refusal.message, refusal.retryAfterMs);
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
    const { objectUid, namespace, offerId } = request;
    const objects = this.#options.objects();
    const pricePerHour = this.#countedPrice(request, objects);
    const grant = this.#pending.begin({ objectUid, namespace, pricePerHour }, objects.get(objectUid));
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
        if (rented === true) this.#options.reservations.rented(offerId, objectUid);
        this.#options.queue.slotEnded();
      },
    };
  }
}

function besideOf({ instead, pending }: UnderWay): BesideRecords {
  return { instead: [...instead.values()], pending };
}

/** Changes to a summary when the object's machine has ended. */
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
