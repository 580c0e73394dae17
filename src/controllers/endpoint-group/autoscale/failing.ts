import type { EndpointGroupStatus } from '../../../api/v1alpha1/endpoint-group.ts';
import { growingWaitMs } from '../../../instance/repeated-failure.ts';
import { printableText } from '../../../lib/text.ts';
import { formatTime, parseTime } from '../../../lib/time.ts';
import type { LoadView } from '../load/view.ts';
import type { Observed } from '../types.ts';
import type { Worker } from '../workers/worker.ts';
import type { Change } from './plan.ts';

/** Worker that reports an error, as the status of its group records it. */
export type FailingWorker = NonNullable<EndpointGroupStatus['failingWorkers']>[number];

/** Maximum number in the status. Further workers are recorded when there is room. */
const MAX_FAILING = 64;
const MAX_ERROR = 160;

/**
 * Returns the workers whose last report is an error, the oldest first. A worker stays until it reports without an
 * error, also across restarts of the operator and its own silence. The recorded text stays, so that a changing text
 * causes no write.
 */
export function failingWorkers(
  {
    group,
    workers,
    load: { state, source },
    clock: { now, times },
  }: Pick<Observed, 'group' | 'workers' | 'load' | 'clock'>,
  view: LoadView,
): readonly FailingWorker[] {
  const recorded = group.status?.failingWorkers ?? [];
  return workers.all
    .flatMap(({ name, reporter, object: { status } }): FailingWorker[] => {
      const instanceId = status?.instanceId;
      const former = recorded.find((one) => one.worker === name && one.instanceId === instanceId);
      const report = state.reporters.get(reporter);
      const isReporting = source !== 'workers' || (report !== undefined && now - report.at < times.missingMs);
      const error = isReporting ? readableError(view.workers.get(name)?.error) : former?.error;
      if (instanceId === undefined || error === undefined) return [];
      const since = formatTime(Math.min(now, parseTime(former?.since) ?? now));
      return [{ worker: name, instanceId, since, error: former?.error ?? error }];
    })
    .toSorted((a, b) => order(a.since, b.since) || order(a.worker, b.worker))
    .slice(0, MAX_FAILING);
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Returns the error of a report in printable characters; undefined without an error. */
export function readableError(error: string | undefined): string | undefined {
  if (error === undefined || error === '') return undefined;
  return printableText(error, MAX_ERROR) ?? 'an error without readable text';
}

/** Returns the figures with the recorded errors of workers that have not reported since. */
export function withRecordedErrors(load: LoadView, failing: readonly FailingWorker[]): LoadView {
  const errors = new Map(failing.map(({ worker, error }) => [worker, error]));
  const workers = [...load.workers].map(
    ([name, figures]) => [name, { ...figures, error: figures.error || (errors.get(name) ?? '') }] as const,
  );
  return { ...load, workers: new Map(workers) };
}

/** Time from which the next broken worker may be replaced. */
export interface ReplacementPace {
  /** Number of consecutive replacements of broken workers without a proven new one. */
  readonly inRow: number;
  /** In milliseconds since the epoch. */
  readonly from: number;
  /** Worker whose replacement is recorded and which may still need its role Gone. */
  readonly underWay: string | undefined;
}

const HOUR_MS = 3_600_000;
/** Time without a replacement after which the count starts again. */
const ROW_MS = 2 * HOUR_MS;

/**
 * Returns the pace of replacements: at most `maxPerHour`, and each consecutive one waits twice as long as the one
 * before, up to an hour. An image that is broken everywhere must not rent machine after machine. A new worker that
 * serves for as long as the first wait resets the count.
 */
export function replacementPace(
  { group, workers, clock: { now } }: Pick<Observed, 'group' | 'workers' | 'clock'>,
  failing: ReadonlySet<string>,
): ReplacementPace {
  const { lastReplacement: last } = group.status ?? {};
  const at = parseTime(last?.at);
  // A time in the future is from before the clock went back; it must not delay replacements.
  if (last === undefined || at === undefined || at > now)
    return { inRow: last?.count ?? 0, from: 0, underWay: undefined };
  const firstMs = HOUR_MS / group.spec.template.spec.replacement.maxPerHour;
  const isProven = ({ name, createdAt, isServing, readySince }: Worker) =>
    createdAt >= at && isServing && !failing.has(name) && now >= readySince + firstMs;
  const inRow = now >= at + ROW_MS || workers.all.some(isProven) ? 0 : last.count;
  return {
    inRow,
    from: at + growingWaitMs(inRow, firstMs),
    underWay: workers.all.find(({ name, createdAt }) => name === last.worker && createdAt < at)?.name,
  };
}

/** Returns the last replacement of a broken worker for the status. */
export function lastReplacement(
  { group, clock: { now } }: Pick<Observed, 'group' | 'clock'>,
  { inRow, underWay }: ReplacementPace,
  changes: readonly Change[],
): EndpointGroupStatus['lastReplacement'] {
  const broken = changes.find((change) => change.type === 'destroy' && change.why === 'Broken');
  if (broken?.type !== 'destroy' || broken.name === underWay) return group.status?.lastReplacement;
  return { worker: broken.name, at: formatTime(now), count: inRow + 1 };
}
