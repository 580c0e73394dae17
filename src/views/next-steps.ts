import type { ConditionType } from '../api/v1alpha1/conditions.ts';
import type { Condition } from '../api/v1alpha1/object.ts';
import { type ReasonEntry, reasons } from '../api/v1alpha1/reasons.ts';

/** Severities, the most urgent first. */
const PRESSING = ['terminal', 'retryable', 'progress', 'good'] as const;

/**
 * Returns the next steps from the conditions: steps that need a person, else steps that happen by themselves.
 * If everything is as desired, there are no steps.
 */
export function nextSteps(
  conditions: readonly Condition[],
  types: Readonly<Record<string, ConditionType>>,
): readonly string[] {
  return pressingReasons(conditions, types).map(stepOf);
}

/**
 * Returns the catalogue's entries of the most urgent severity, which all of them share. Conditions that are only unknown
 * or in progress follow from another problem. Empty if everything is as desired.
 */
export function pressingReasons(
  conditions: readonly Condition[],
  types: Readonly<Record<string, ConditionType>>,
): readonly ReasonEntry[] {
  const wrong = conditions.filter((condition) => isWrong(condition, types));
  const certain = wrong.filter(({ status }) => status !== 'Unknown');
  const reasonsOf = new Set((certain.length > 0 ? certain : wrong).map(({ reason }) => reason));
  const isAsDesired = holds(conditions, 'Ready') && !holds(conditions, 'Reconciling');
  const entries = [...reasonsOf]
    .flatMap((reason) => entryOf(reason) ?? [])
    .filter(({ kind: each }) => !isAsDesired || each === 'terminal' || each === 'retryable');
  const kind = PRESSING.find((pressing) => entries.some((entry) => entry.kind === pressing));
  const pressing = entries.filter((entry) => entry.kind === kind);
  const causes = pressing.filter((entry) => !CONSEQUENCES.includes(entry));
  return causes.length > 0 ? causes : pressing;
}

/** Reasons that follow from another reason, which the report also shows. */
const CONSEQUENCES: readonly ReasonEntry[] = [reasons.NotRunning];

function holds(conditions: readonly Condition[], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

function isWrong({ type, status }: Condition, types: Readonly<Record<string, ConditionType>>): boolean {
  if (types[type]?.polarity === 'abnormal-true') return status !== 'False';
  return status !== 'True';
}

function stepOf({ kind, remedy, sentence }: ReasonEntry): string {
  switch (kind) {
    case 'terminal':
      return `Waits for you: ${remedy ?? sentence}`;
    case 'retryable':
      return `Goes on by itself when the cause ends. ${remedy ?? ''}`.trim();
    case 'progress':
      return `The operator is at work: ${sentence}${remedy ? ` ${remedy}` : ''}`;
    case 'good':
      return sentence;
  }
}

/** Returns the catalogue's entry; undefined for a reason of a newer operator that this program does not know. */
export function entryOf(reason: string): ReasonEntry | undefined {
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : undefined;
}
