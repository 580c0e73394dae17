import type { Summary, Tick } from '../views/replay.ts';
import { type Fleet, readyWorkers, type Totals, waitingWork } from './fleet.ts';
import { oldestWaitMs } from './queueing.ts';

/** Counters of a fleet beyond its ticks. */
export interface Counted {
  readonly fleet: Fleet;
  readonly now: number;
  readonly rented: number;
  readonly woken: number;
  readonly peakTotal: number;
}

export function dollarsOf({ priceSeconds }: Totals): number {
  return Math.round(priceSeconds / 3600) / 1e6;
}

/** Returns a number with six digits after the point: enough for any figure, and the same text on every machine. */
export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

/** Returns the wait in front of ready workers; the age of the oldest work if there are none. */
export function queueSecondsOf(fleet: Fleet, now: number): number {
  const perf = readyWorkers(fleet, now).reduce((sum, { model }) => sum + model.perf, 0);
  if (perf === 0) return oldestWaitMs(fleet.front, now) / 1000;
  return rounded(waitingWork(fleet) / perf);
}

export function summaryOf(ticks: readonly Tick[], seconds: number, counted: Counted): Summary {
  const { fleet, rented, woken, peakTotal } = counted;
  const { totals } = fleet;
  const queued = waitingWork(fleet);
  const taken = totals.served + queued;
  const most = (valueOfTick: (tick: Tick) => number) =>
    ticks.reduce((peak, tick) => Math.max(peak, valueOfTick(tick)), 0);
  return {
    seconds,
    offered: rounded(totals.offered),
    served: rounded(totals.served),
    rejected: rounded(totals.rejected),
    queued: rounded(queued),
    rejectedPercent: totals.offered > 0 ? rounded((100 * totals.rejected) / totals.offered) : 0,
    meanQueueSeconds: taken > 0 ? rounded(totals.waited / taken) : 0,
    peakQueueSeconds: most((tick) => tick.queueSeconds),
    peakHot: most((tick) => tick.hot),
    peakTotal,
    rented,
    woken,
    dollars: dollarsOf(totals),
  };
}
