import type { GpuInstanceCondition } from '../../api/v1alpha1/conditions.ts';
import type { EventNote } from '../../runtime/events.ts';
import { type Finding, verdict } from './conditions.ts';
import type { Facts } from './facts.ts';
import type { ConditionState, Decision, Recording, Requeue, StatusFields, Step } from './types.ts';

/** Rule of a stage: its condition, and the reason for its position. */
export interface Rule<S> {
  readonly name: string;
  /** Reason for the decision: one sentence for people. */
  readonly because: string;
  /** Returns undefined if the rule does not apply: the next rule is tried. */
  readonly decide: (facts: Facts, stage: S) => Step | undefined;
}

/** Returns the step of the first rule that applies, under that rule's name. */
export function firstOf<S>(rules: readonly Rule<S>[], facts: Facts, stage: S): Step | undefined {
  for (const rule of rules) {
    const step = rule.decide(facts, stage);
    if (step) return named(rule, step);
  }
  return undefined;
}

/** Returns the same step under the name of a rule. */
export function named({ name, because }: Pick<Rule<never>, 'name' | 'because'>, step: Step): Step {
  return step.type === 'decision' ? { ...step, rule: name, because } : step;
}

/** A decision outside a table of rules names its own rule, with the reason. */
type Named = Pick<Decision, 'rule' | 'because'> | { readonly rule?: never; readonly because?: never };

type Parts = Named &
  Partial<Omit<Decision, 'type' | 'status' | 'rule' | 'because'>> & {
    readonly fields?: StatusFields;
    readonly finding?: Finding;
  };

/** Returns a decision with only the given parts. Actions without a recording mode record the status first. */
export function decision({ fields, finding, ...parts }: Parts): Decision {
  const actions = parts.actions ?? [];
  const record: Recording =
    actions.length > 0 ? { type: 'status' } : { type: 'nothing', because: 'noAction' };
  return {
    type: 'decision',
    rule: '',
    because: '',
    record,
    events: [],
    avoid: [],
    settled: [],
    requeue: {},
    ...(fields && finding ? { status: { fields, verdict: verdict(finding) } } : {}),
    ...parts,
    actions,
  };
}

/** A decision that writes the status. */
export type StatusDecision = Decision & { readonly status: NonNullable<Decision['status']> };

/** Returns true for a decision that writes the status. */
export function writesStatus(step: Step): step is StatusDecision {
  return step.type === 'decision' && step.status !== undefined;
}

/** Parts that join a decision after its rule; no action is among them. */
export interface AnyAdded {
  /** Replaces the fields of the decision. */
  readonly fields?: StatusFields;
  readonly conditions?: { readonly [T in GpuInstanceCondition]?: ConditionState };
  /** Events before those of the decision. */
  readonly firstEvents?: readonly EventNote[];
  readonly events?: readonly EventNote[];
  readonly requeue?: Requeue;
}

/** Parts that set or change no condition except `C`. */
export interface Added<C extends GpuInstanceCondition = never> extends AnyAdded {
  readonly conditions?: { readonly [T in GpuInstanceCondition]?: T extends C ? ConditionState : never };
}

/** Returns the decision with these parts. */
export function withAdded(
  decided: StatusDecision,
  { fields, conditions, firstEvents = [], events = [], requeue = {} }: AnyAdded,
): StatusDecision {
  const { status } = decided;
  return {
    ...decided,
    status: { fields: fields ?? status.fields, verdict: { ...status.verdict, ...conditions } },
    events: [...firstEvents, ...decided.events, ...events],
    requeue: sooner(decided.requeue, requeue),
  };
}

/** Returns the requeue at the earlier of both times, and after the next list if one of them waits for it. */
export function sooner(left: Requeue, right: Requeue): Requeue {
  const times = [left.afterMs, right.afterMs].filter((time) => time !== undefined);
  return { ...left, ...right, ...(times.length > 0 && { afterMs: Math.min(...times) }) };
}

const BACKOFF_BASE_MS = 5_000;
const BACKOFF_MAX_MS = 300_000;

/**
 * Returns the delay after `failures` failures in a row: 5 s doubling to 5 min, or to `maxMs`, with a spread of up to a
 * fifth.
 */
export function backoffMs(failures: number, jitter: number, maxMs = BACKOFF_MAX_MS): number {
  const plain = Math.min(maxMs, BACKOFF_BASE_MS * 2 ** Math.min(10, Math.max(0, failures - 1)));
  return Math.round(plain * (0.9 + 0.2 * jitter));
}
