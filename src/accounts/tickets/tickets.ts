import type { MicroDollars } from '../../lib/money.ts';
import type { Slot } from '../../marketplace/pacing/pacing.ts';

export interface TicketRequest {
  readonly objectUid: string;
  readonly namespace: string;
  /** What the rental was decided on: another version of the object has its place in the queue anew. */
  readonly generation: number;
  /** Called when a rental slot is there, if none is now. */
  readonly wake: () => void;
  readonly offerId: number;
  /** Of the offer, disk included. Undefined where the service names no price. */
  readonly pricePerHour: MicroDollars | undefined;
}

/** What a start asks for. */
export interface StartRequest {
  readonly objectUid: string;
  /** Of the running machine, disk included. Undefined where the service names no price. */
  readonly pricePerHour: MicroDollars | undefined;
  /** Within how many milliseconds of its answer the machine has to run. */
  readonly timeoutMs: number;
}

/** Offers by id. */
export type OfferSet = Pick<ReadonlySet<number>, 'has'>;

/**
 * Why no rental may begin now. All but `OfferReserved`, which passes within a moment and is not worth a write, are
 * reasons of the catalogue. `Queued`: the object waits in the queue of its login and is called.
 */
export type TicketRefusal =
  | 'Queued'
  | 'OfferReserved'
  | 'AccountNotReady'
  | 'KeyTooNarrow'
  | 'InsufficientCredit'
  | 'AccountLimitReached'
  | 'TooManyRentals';

/**
 * The right to write one intent and to send one rental, valid for 5 s on the monotonic clock, so that
 * intents do not age in a queue.
 */
export interface Ticket {
  readonly type: 'ticket';
  readonly id: number;
  readonly objectUid: string;
  readonly offerId: number;
  /** The pacing place of the call; hand it to `instances.rent`. */
  readonly slot: Slot;
  /**
   * Asked right before the call, once. False: too late or already used; then the call must not be sent.
   */
  use(): boolean;
  /** The call was answered or given up: frees the offer (`rented` false) and, where rentals are serial, the turn. */
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
      /** The call was answered or given up: its money counts no more (`started` false), or until it shows or its time is over. */
      settle(result: { readonly started: boolean | 'unknown' }): void;
    }
  | {
      readonly type: 'refused';
      readonly reason: TicketRefusal;
      readonly message: string;
      readonly retryAfterMs: number;
    };

/** The gate in front of every purchase of one account. Answers at once; never waits. */
export interface Tickets {
  /** For a new rental. A refused request reserves no offer; a queued one waits for its slot. */
  request(request: TicketRequest): TicketDecision;
  /** For starting a stopped machine: limits and credit count, pacing and reservation do not. A permitted one counts at once. */
  requestStart(request: StartRequest): StartDecision;
  /** Offers that other objects hold at this moment. */
  reservedFor(objectUid: string): OfferSet;
}
