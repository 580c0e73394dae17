import { cutToBytes } from '../lib/text.ts';
import type { Condition, ConditionStatus } from './kube/kube-object.ts';

/** A condition as decided: when it came about is for {@link setConditions} to find out. */
export interface DesiredCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

export interface SetConditionsOptions {
  readonly previous: readonly Condition[] | undefined;
  readonly desired: readonly DesiredCondition[];
  /** Types that must not be there, such as `Stalled` while nothing is. Others of `previous` stay as they are. */
  readonly absent?: readonly string[] | undefined;
  /** Of the object that was judged. */
  readonly generation: number | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** What definitions allow a message (metav1.Condition would take 32,768): a longer one makes the write of a status fail. */
export const MAX_MESSAGE_BYTES = 4096;

/**
 * The new conditions: a condition keeps its transition time while its status stays the same, each desired one carries
 * `generation`, and the order of `previous` is kept so that an unchanged state is written the same way.
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
