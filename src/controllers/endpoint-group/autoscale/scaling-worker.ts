import type { MicroDollars } from '../../../lib/money.ts';
import type { Worker } from '../workers/worker.ts';

/** A worker as the autoscaler judges it: what its object shows, and what load, prices and template say about it. */
export interface ScalingWorker
  extends Pick<Worker, 'name' | 'wasEverReady' | 'hasRun' | 'isOverdue' | 'isOnHold'> {
  /** `hot` runs or is on its way to it; `cold` is stopped or will be; `leaving` still bills. */
  readonly role: 'hot' | 'cold' | 'leaving';
  /** It serves, can be reached, and reports no error. */
  readonly isReady: boolean;
  /** Its machine runs, boots or is asked to: the price of a running one bills. */
  readonly isRunning: boolean;

  /** Work units per second. */
  readonly perf: number;
  /** Work it has taken and not finished, in units. */
  readonly curLoad: number;

  /** While it runs. */
  readonly pricePerHour: MicroDollars;
  /** While it is stopped. */
  readonly coldPricePerHour: MicroDollars;
  /** Part of a higher price on lists that is not confirmed: it leaves less room for rentals, and ends nothing. */
  readonly unconfirmedPerHour?: MicroDollars;
  /** Lower goes first. */
  readonly keepRank: number;

  readonly isCurrentTemplate: boolean;
  /** An update leaves it: it wakes since it is needed now, or its account is suspended or frozen by its breaker. */
  readonly isUpdateExempt: boolean;
  /** It has a machine, and no other was seen that could be rented for it. */
  readonly isWithoutSubstitute?: boolean;

  /** It serves where no Service leads to, and will for as long as it has this machine. */
  readonly isUnreachable: boolean;
  /** It was woken, does not run after `wakeTimeout`, and may be replaced. */
  readonly hasWakeFailed: boolean;
  /** It runs and does not serve for longer than it may, or reports an error for a minute; it may be replaced. */
  readonly isBroken?: boolean;
  /** If it is broken, it is replaced later. */
  readonly isPaced?: boolean;
  /** Its machine is gone, it gets no other by itself, and it may be replaced. */
  readonly hasEnded: boolean;
  /** It has found no machine under the price limit that it was made with, and would be made with a higher one now. */
  readonly hasOldPrice?: boolean;
  /** It has never had a machine, and may not rent one: the ceiling was lowered after it was made, or others cost more. */
  readonly isBeyondCeiling?: boolean;
}

/** The part by which the numbers of hot and cold workers are decided. */
export type CountedWorker = Pick<
  ScalingWorker,
  'role' | 'isReady' | 'wasEverReady' | 'isOverdue' | 'curLoad' | keyof CoverWorker
>;

/** The part by which the cheapest cover is chosen. */
export type CoverWorker = Pick<ScalingWorker, 'name' | 'perf' | 'pricePerHour' | 'keepRank'>;
