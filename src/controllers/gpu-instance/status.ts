import { type GpuInstanceCondition, gpuInstanceConditions } from '../../api/v1alpha1/conditions.ts';
import type { GpuInstance, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { withPage } from '../../api/v1alpha1/reason-page.ts';
import { formatTime } from '../../lib/time.ts';
import { setConditions } from '../../runtime/conditions.ts';
import type { Decision } from './types.ts';

/** The status that a decision wants: its fields, and its verdict as conditions of the object's generation. */
export function statusOf(
  object: GpuInstance,
  wanted: NonNullable<Decision['status']>,
  now: number,
): GpuInstanceStatus {
  const { phase, ...said } = wanted.verdict;
  const types = Object.keys(gpuInstanceConditions) as GpuInstanceCondition[];
  const conditions = setConditions({
    previous: object.status?.conditions,
    wanted: types.flatMap((type) => {
      const says = said[type];
      return says ? [withPage({ type, ...says })] : [];
    }),
    absent: types.filter((type) => said[type] === undefined),
    generation: object.metadata.generation,
    now: formatTime(now),
  });
  return {
    ...wanted.fields,
    observedGeneration: object.metadata.generation,
    phase,
    conditions: conditions.map((condition) => ({ ...condition })),
  };
}
