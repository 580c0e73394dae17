import type { MicroDollars } from '../../../lib/money.ts';
import type { Worker } from '../workers/worker.ts';

/** Worker as input of the autoscaler: its object with its load, price and template. */
export interface ScalingWorker
  extends Pick<Worker, 'name' | 'wasEverReady' | 'hasRun' | 'isOverdue' | 'isOnHold'> {
  /** `hot` runs or will run; `cold` is stopped or will be; `leaving` is still billed. */
  readonly role: 'hot' | 'cold' | 'leaving';
  /** Serves, is reachable, and reports no error. */
  readonly isReady: boolean;
  /** The machine runs, boots or is to start, so its running price counts. */
  readonly isRunning: boolean;

  /** Work units per second. */
  readonly perf: number;
  /** Accepted work that is not finished, in units. */
  readonly curLoad: number;

  /** Price while running. */
  readonly pricePerHour: MicroDollars;
  /** Price while stopped. */
  readonly coldPricePerHour: MicroDollars;
  /** Part of a listed price increase that is not confirmed. It reduces the room for rentals and ends nothing. */
  readonly unconfirmedPerHour?: MicroDollars;
  /** Lower ranks are removed first. */
  readonly keepRank: number;

  readonly isCurrentTemplate: boolean;
  /** Excluded from updates: it is waking, or its account is suspended or frozen by its breaker. */
  readonly isUpdateExempt: boolean;
  /** Has a machine for which no substitute can be rented. */
  readonly isWithoutSubstitute?: boolean;

  /** Serves, but no Service can reach its present machine. */
  readonly isUnreachable: boolean;
  /** Was woken, does not run after `wakeTimeout`, and may be replaced. */
  readonly hasWakeFailed: boolean;
  /** Has run without serving beyond its timeout, or has reported an error for a minute; it may be replaced. */
  readonly isBroken?: boolean;
  /** If broken, it waits for its replacement. */
  readonly isPaced?: boolean;
  /** The machine is gone, the operator rents no other for it, and it may be replaced. */
  readonly hasEnded: boolean;
  /** Found no machine under its price limit, and a new worker would have a higher limit. */
  readonly hasOldPrice?: boolean;
  /** Never had a machine and may not rent one: the ceiling was lowered since, or other workers cost more. */
  readonly isBeyondCeiling?: boolean;
}

/** Fields for the numbers of hot and cold workers. */
export type CountedWorker = Pick<
  ScalingWorker,
  'role' | 'isReady' | 'wasEverReady' | 'isOverdue' | 'curLoad' | keyof CoverWorker
>;

/** Fields for the cheapest cover. */
export type CoverWorker = Pick<ScalingWorker, 'name' | 'perf' | 'pricePerHour' | 'keepRank'>;
