import type { MicroDollars } from '../../lib/money.ts';
import { isFull, type ScalingOptions } from './autoscale/capacity.ts';
import type { ScalingWorker } from './autoscale/scaling-worker.ts';
import type { Worker } from './workers/worker.ts';

/** Numbers of workers by state. */
export interface Counts {
  /** Workers with desired role hot; they run or boot. */
  readonly hot: number;
  /** Stopped or stopping. */
  readonly cold: number;
  /** Published. */
  readonly ready: number;
  readonly starting: number;
  readonly waking: number;
  readonly draining: number;
  readonly leaving: number;
  readonly total: number;
  readonly updated: number;
  readonly old: number;
  readonly stalled: number;
  /** Ready workers that accept no more requests. */
  readonly full: number;
  readonly pricePerHour: MicroDollars;
}

export interface CountsInput {
  readonly workers: readonly Worker[];
  readonly scaling: readonly ScalingWorker[];
  readonly published: ReadonlySet<string>;
  readonly options: ScalingOptions;
}

export function countWorkers({ workers, scaling, published, options }: CountsInput): Counts {
  const count = (holds: (worker: Worker) => boolean) => workers.filter(holds).length;
  const staying = (worker: Worker) => !worker.isDeleting && worker.desiredRole !== 'Gone';
  const hot = (worker: Worker) => staying(worker) && worker.desiredRole === 'Hot';
  const isReady = (worker: Worker) => hot(worker) && published.has(worker.name);
  const starts = (worker: Worker) => staying(worker) && worker.powerState === 'Running' && !worker.isServing;
  const current = new Set(scaling.filter((worker) => worker.isCurrentTemplate).map(({ name }) => name));
  const ready = scaling.filter(({ name, role }) => role === 'hot' && published.has(name));
  return {
    hot: count(hot),
    cold: count((worker) => staying(worker) && worker.desiredRole === 'Cold'),
    ready: count(isReady),
    starting: count(starts),
    waking: count((worker) => starts(worker) && worker.wokenAt !== undefined && !worker.ranSinceWoken),
    draining: count((worker) => worker.drainSince !== undefined && worker.isUp && !worker.isDeleting),
    leaving: count((worker) => !staying(worker)),
    total: workers.length,
    updated: count((worker) => staying(worker) && current.has(worker.name)),
    old: count((worker) => staying(worker) && !current.has(worker.name)),
    stalled: count((worker) => staying(worker) && worker.isStalled),
    // Without a known performance the duration of its work is unknown.
    full: ready.filter(({ curLoad, perf }) => perf > 0 && isFull(curLoad, perf, options.maxQueueSeconds))
      .length,
    pricePerHour: workers.reduce((sum, worker) => sum + billedPrice(worker), 0),
  };
}

/** Returns the current price of a worker per hour; 0 while the marketplace has not reported one. */
function billedPrice(worker: Worker): MicroDollars {
  if (!worker.isRented) return 0;
  return (worker.isStopped ? worker.coldPricePerHour : worker.pricePerHour) ?? 0;
}
