import type { MicroDollars } from '../lib/money.ts';

/** What an object that goes away leaves to its account, so that the brake does not forget it. */
export interface DepartedObject {
  readonly uid: string;
  /** Epoch milliseconds of its rentals within the last hour. */
  readonly rentals: readonly number[];
  /** What its machines cost in the running UTC month. */
  readonly spentThisMonth: MicroDollars;
  /** Epoch milliseconds at which its newest intent was issued; undefined where it never rented. */
  readonly newestRentalAt: number | undefined;
}

/** A machine left running or stopped on purpose, whose label could not be changed to say so. */
export interface RetainedMachine {
  readonly instanceId: number;
  readonly objectUid: string;
  /** namespace/name of the object it belonged to. */
  readonly owner: string;
  readonly policy: 'Stop' | 'Retain';
  readonly pricePerHour: MicroDollars | undefined;
}

/** An unclaimed machine that a sweep is about to destroy. */
export interface SweptMachine {
  readonly instanceId: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What an account remembers of objects that are gone. It stands in the account's status, and needs no key. */
export interface AccountBook {
  /**
   * Durable when it resolves; await it before the finalizer goes, and call it once for an object. Where the process
   * ends in between it may count twice: the brake then errs on the careful side.
   */
  foldDeparted(departed: DepartedObject): Promise<void>;
  /**
   * Durable when it resolves: the machine stands in the account's `status.retained`, and no sweep touches it. Rejects
   * with a RangeError where the account lists as many as it can.
   */
  recordRetained(machine: RetainedMachine): Promise<void>;
  /** Durable when it resolves: the destroy counts among those of the last hour. Counted once for a machine. */
  recordSwept(machine: SweptMachine): Promise<void>;
}
