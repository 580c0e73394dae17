import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../api/v1alpha1/names.ts';
import { parseDuration, parseTime } from '../lib/time.ts';

/** Values of `spec.idle`, in milliseconds and percent. */
export interface IdlePolicy {
  readonly afterMs: number;
  /** Percent of utilization below which the machine is idle. */
  readonly below: number;
  readonly action: 'Report' | 'Stop' | 'Destroy';
  readonly warningMs: number;
}

/** Returns the policy of an object; undefined without one, and for workers, which their group ends by load. */
export function idlePolicy({
  metadata,
  spec,
}: Pick<GpuInstance, 'metadata' | 'spec'>): IdlePolicy | undefined {
  const afterMs = parseDuration(spec.idle?.after);
  const isWorker = metadata.labels?.[labels.endpointGroup] !== undefined;
  if (spec.idle === undefined || afterMs === undefined || isWorker) return undefined;
  const { below, action, warning } = spec.idle;
  return { afterMs, below, action, warningMs: parseDuration(warning) ?? 0 };
}

/** Time before which no idle end happens; `invalid` if the annotation is no time. */
export type IdleExtension = number | 'invalid' | undefined;

/** Returns the extension that the annotation of an object requests, in epoch milliseconds. */
export function idleExtension({ metadata }: Pick<GpuInstance, 'metadata'>): IdleExtension {
  const text = metadata.annotations?.[annotations.idleExtendUntil];
  return text === undefined ? undefined : (parseTime(text) ?? 'invalid');
}

/**
 * Returns the recorded time of an idle end by the operator (epoch milliseconds), while that keeps the object without
 * a running machine. It no longer does when the annotation has a later time, `spec.idle` requires no end, or
 * powerState is Stopped.
 */
export function idleEnd(object: Pick<GpuInstance, 'metadata' | 'spec' | 'status'>): number | undefined {
  const endedAt = parseTime(object.status?.idleEndedAt);
  const { action = 'Report' } = idlePolicy(object) ?? {};
  if (endedAt === undefined || action === 'Report' || object.spec.powerState === 'Stopped') return undefined;
  const extension = idleExtension(object);
  return typeof extension === 'number' && extension > endedAt ? undefined : endedAt;
}
