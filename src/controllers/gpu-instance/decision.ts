import type { Facts } from './facts.ts';
import { type Finding, verdict } from './status.ts';
import type { Decision, Recording, StatusFields, Step } from './types.ts';

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

/** A decision outside a table of rules names its rule itself, with the reason. */
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
