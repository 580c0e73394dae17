import { cutToBytes } from '../lib/text.ts';
import type { Condition, ConditionStatus } from './kube/kube-object.ts';

/** A decided condition; {@link setConditions} adds the time of its transition. */
export interface DesiredCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

export interface SetConditionsOptions {
  readonly previous: readonly Condition[] | undefined;
  readonly desired: readonly DesiredCondition[];
  /** Types that must be absent, such as `Stalled` while nothing stalls. Others of `previous` stay. */
  readonly absent?: readonly string[] | undefined;
  /** Generation of the evaluated object. */
  readonly generation: number | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/**
 * Maximum length of a message in the CRDs (metav1.Condition would accept 32,768): a longer one makes the write of a
 * status fail.
 */
export const MAX_MESSAGE_BYTES = 4096;

/**
 * Returns the new conditions. A condition keeps its transition time while its status stays the same, each desired one
 * carries `generation`, and the order of `previous` is kept, so that an unchanged state is written unchanged.
 */
export function setConditions(options: SetConditionsOptions): readonly Condition[] {
  const { previous = [], desired, absent = [] } = options;
  const byType = new Map(desired.map((condition) => [condition.type, condition]));
  const kept = previous
    .filter((condition) => !absent.includes(condition.type))
    .map((condition) => {
      const next = byType.get(condition.type);
      return next ? stamped(next, condition, options) : condition;
    });
  const known = new Set(previous.map((condition) => condition.type));
  const added = desired
    .filter((condition) => !known.has(condition.type))
    .map((condition) => stamped(condition, undefined, options));
  return [...kept, ...added];
}

function stamped(
  desired: DesiredCondition,
  previous: Condition | undefined,
  { generation, now }: SetConditionsOptions,
): Condition {
  return {
    type: desired.type,
    status: desired.status,
    reason: desired.reason,
    message: cutToBytes(desired.message, MAX_MESSAGE_BYTES),
    lastTransitionTime: previous?.status === desired.status ? previous.lastTransitionTime : now,
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
