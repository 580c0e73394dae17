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
  ScalingPaused: progress('The number of workers is kept by spec.pause.', 'Set it to false to go on.'),
  AtMaxWorkers: retryable('The load needs more workers than maxWorkers.', 'Raise maxWorkers.'),
  AtSpendCeiling: retryable(
    'The load needs more workers than maxSpendPerHour pays for.',
    'Raise maxSpendPerHour.',
  ),
  Saturated: retryable(
    'Every hot worker is full.',
    'Nothing while workers are added; else raise the limits.',
  ),
  TargetQueueTimeTooShort: retryable(
    'Requests take longer than targetQueueTime, and look like a queue.',
    'Raise targetQueueTime, or use a source that tells waiting from running.',
  ),
  MetricsMissing: retryable(
    'No worker tells its load; the number of workers is not lowered.',
    'Check port, path and worker.',
  ),
  MetricsInvalid: retryable('Load figures cannot be true.', 'Check the names of the figures and the worker.'),
  LoadSourceUnreachable: retryable(
    'The load source does not answer.',
    'Check the source that the message names.',
  ),
  PerfUnknown: progress(
    'No worker has told what it can do; one is measured first.',
    'Set expectedPerf to skip this.',
  ),
  WakeTimedOut: retryable(
    'A cold worker did not wake in time; it is replaced.',
    'Nothing; or raise wakeTimeout.',
  ),
  AddressNotPublishable: retryable(
    'A worker has an address that may not be published.',
    'Nothing; the worker is not used.',
  ),
  ServicePortsDiffer: retryable(
    'Groups that share a Service declare different ports.',
    'Give them the same ports.',
  ),
  WorkersFailing: retryable(
    'Workers cannot be rented or do not boot.',
    'Look at the conditions of the workers.',
  ),
} as const;
