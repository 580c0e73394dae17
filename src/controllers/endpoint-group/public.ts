/** Exports of this controller for the command line. */
export { autoscale } from './autoscale/autoscale.ts';
export type { ScalingDecision, ScalingInput, ScalingMemory } from './autoscale/bounds.ts';
export { mostExpensiveOffer } from './autoscale/candidates.ts';
export { maxUnavailable, scalingOptions, usualPerf } from './autoscale/capacity.ts';
export { chooseWorkers } from './autoscale/choose-workers.ts';
export type { Change, Choice } from './autoscale/plan.ts';
export type { ScalingWorker } from './autoscale/scaling-worker.ts';
export { explainGroup } from './explain.ts';
export { EMPTY_HISTORY, type LoadHistory, rolledTo, withArrivals } from './load/state.ts';
export { defaultTimes } from './times.ts';
export { isOutdated, isToUpdate, templateHash } from './workers/template.ts';
export { workerOf } from './workers/worker.ts';
