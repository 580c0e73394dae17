import type { Summary, Tick } from '../views/replay.ts';
import { type Fleet, readyWorkers, type Totals, waitingWork } from './fleet.ts';
import { oldestWaitMs } from './queueing.ts';

/** Counters of a whole replay. */
export interface Counted {
  readonly fleet: Fleet;
  readonly now: number;
  readonly rented: number;
  readonly woken: number;
  readonly peakTotal: number;
}

/** Returns the total cost in dollars. */
export function dollarsOf({ priceSeconds }: Totals): number {
  return Math.round(priceSeconds / 3600) / 1e6;
}

/** Returns a number rounded to six decimals, so that its text is equal on every machine. */
export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** Returns the wait at ready workers, or the age of the oldest work if no worker is ready. */
export function queueSecondsOf(fleet: Fleet, now: number): number {
  const perf = readyWorkers(fleet, now).reduce((sum, { model }) => sum + model.perf, 0);
  if (perf === 0) return oldestWaitMs(fleet.front, now) / 1000;
  return rounded(waitingWork(fleet) / perf);
}

/** Returns the summary of a replay. */
export function summaryOf(ticks: readonly Tick[], seconds: number, counted: Counted): Summary {
  const { fleet, rented, woken, peakTotal } = counted;
  const { totals } = fleet;
  const queued = waitingWork(fleet);
  const accepted = totals.served + queued;
  const maxOf = (valueOfTick: (tick: Tick) => number) =>
    ticks.reduce((peak, tick) => Math.max(peak, valueOfTick(tick)), 0);
  return {
    seconds,
    offered: rounded(totals.offered),
    served: rounded(totals.served),
    rejected: rounded(totals.rejected),
    queued: rounded(queued),
    rejectedPercent: totals.offered > 0 ? rounded((100 * totals.rejected) / totals.offered) : 0,
    meanQueueSeconds: accepted > 0 ? rounded(totals.waited / accepted) : 0,
    peakQueueSeconds: maxOf((tick) => tick.queueSeconds),
    peakHot: maxOf((tick) => tick.hot),
    peakTotal,
    rented,
    woken,
    dollars: dollarsOf(totals),
  };
}
