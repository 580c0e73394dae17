import type { MicroDollars } from '../../../lib/money.ts';

/** What a simulated worker does and costs. */
export interface WorkerModel {
  /** Work per second. */
  readonly perf: number;
  readonly pricePerHour: MicroDollars;
  /** While it is stopped. */
  readonly coldPricePerHour: MicroDollars;
  /** From the rental until it serves. */
  readonly bootSeconds: number;
  /** From a wake until it serves. */
  readonly wakeSeconds: number;
}

/** A worker that is there when the replay begins, ready once at least. */
export interface FirstWorker {
  readonly model: WorkerModel;
  readonly wanted: 'Hot' | 'Cold';
}
