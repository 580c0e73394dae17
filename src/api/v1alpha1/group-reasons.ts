import { good, progress, retryable } from './reason-entry.ts';

/** Groups. */
export const groupReasons = {
  Stable: good('The number of workers is what is wanted.'),
  ScaledToZero: good('No worker is hot, since there is no load.'),
  MetricsFresh: good('Load figures arrive and are believable.'),
  ScalingUp: progress('Workers are being rented or woken.'),
  ScalingDown: progress('Workers are being stopped or destroyed.'),
  Waking: progress('A cold worker is being woken.'),
  RollingUpdate: progress('Workers of an old template are being replaced.'),
  Draining: progress('Workers finish their work before they go.'),
  NoReadyWorkers: progress('No worker is ready.'),
  ScalingPaused: progress(
    'Scaling is paused by spec.pause.',
    'Set spec.pause.scaleUp or spec.pause.scaleDown to false to go on.',
  ),
  AtMaxWorkers: retryable('The load needs more workers than spec.maxWorkers.', 'Raise spec.maxWorkers.'),
  AtSpendCeiling: retryable(
    'The load needs more workers than spec.maxSpendPerHour pays for.',
    'Raise spec.maxSpendPerHour.',
  ),
  Saturated: retryable(
    'Every hot worker is full.',
    'You need not do anything while workers are added; otherwise raise spec.maxWorkers or spec.maxSpendPerHour.',
  ),
  TargetQueueTimeTooShort: retryable(
    'Requests take longer than spec.targetQueueTime, which looks like a queue.',
    'Raise spec.targetQueueTime, or use a load source that tells waiting from running requests.',
  ),
  MetricsMissing: retryable(
    'No worker reports its load, so the number of workers is not lowered.',
    'Check port and path under spec.load, and that the worker serves its figures.',
  ),
  MetricsInvalid: retryable(
    'The load figures cannot be true, so no worker is taken away by them.',
    'Check the names of the figures under spec.load, and the worker.',
  ),
  LoadSourceUnreachable: retryable(
    'The load source does not answer.',
    'Check the load source that the message names.',
  ),
  PerfUnknown: retryable(
    'No worker has reported what it can do, so one is measured first and no more are hot.',
    'Set spec.expectedPerf. The sources Static and Prometheus and the preset VLLM never tell it.',
  ),
  WakeTimedOut: retryable(
    'A cold worker did not wake within spec.wakeTimeout, so it is replaced.',
    'You need not do anything. If this happens often, raise spec.wakeTimeout.',
  ),
  AddressNotPublishable: retryable(
    'A worker has an address that may not be published, so it is not used.',
    'You need not do anything: the other workers serve. To get another machine for it, delete the GpuInstance of that worker. Where machines have private addresses on purpose, run the operator with --allow-private-addresses true.',
  ),
  ServicePortsDiffer: retryable(
    'Groups that share a Service declare different ports.',
    'Give the groups with the same spec.endpointName the same ports.',
  ),
  WriteRefused: retryable(
    'Kubernetes refuses a write by which the group would change its workers: a quota, an admission policy or a missing right forbids it.',
    'Raise the quota, change the policy or grant the right that the message names. Everything else that the group decides is done meanwhile.',
  ),
  WorkersFailing: retryable(
    'Workers cannot be rented, or they do not boot.',
    'Look at the conditions of the GpuInstances that belong to the group.',
  ),
} as const;
