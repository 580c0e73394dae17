import { facetsOf, type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import type { EventNote } from '../../../runtime/events.ts';
import type { Facts } from '../facts.ts';
import { conditionState } from '../status.ts';
import type { ConditionState, Decision, Requeue, Step, Verdict } from '../types.ts';
import { BLOCKED_RETRY_MS, blockedBy, excess, type PlannedEnd, whyOf } from './ending.ts';
import { type Hand, handOf } from './in-hand.ts';

/** Cause for which a machine is kept although another is due, and the time of the next look. */
interface Kept {
  /** Undefined while that is not known yet and was not reported before. */
  readonly condition: ConditionState | undefined;
  /** The same in fewer words, for a Ready that stays True; undefined if it stays as it is on record. */
  readonly summary?: string;
  readonly requeue: Requeue;
  readonly waits?: Decision['waits'];
  /** Set in the reconcile that found the cause. */
  readonly found?: Decision['blocked'];
}

/**
 * Adds to the decision on a machine that another one is due and what blocks its replacement: a person, the account, or
 * that nothing can be rented. The machine stays as ready as it is. An event reports the begin.
 */
export function withKeptMachine(facts: Facts, planned: PlannedEnd, step: Step): Step {
  if (step.type !== 'decision' || !step.status || step.status.verdict.phase === 'Replacing') return step;
  const kept = keptBy(facts, planned);
  if (!kept) return step;
  const { condition, waits, found } = kept;
  const { fields, verdict } = step.status;
  const summary = kept.summary ?? recordedReady(facts) ?? verdict.Ready.message;
  return {
    ...step,
    status: {
      fields,
      verdict: condition ? withCondition(verdict, planned, { condition, summary }) : verdict,
    },
    events: [...step.events, ...(condition ? beginOf(facts, condition) : [])],
    ...(waits && { waits }),
    ...(found && { blocked: found }),
    requeue: sooner(step.requeue, kept.requeue),
  };
}

function keptBy(facts: Facts, planned: PlannedEnd): Kept | undefined {
  const by = blockedBy(facts, planned);
  if (by) {
    const { message } = conditionState('True', by.reason, by.detail);
    const condition = blockedFor(planned, by.reason, message);
    return { condition, summary: condition.message, requeue: { afterMs: BLOCKED_RETRY_MS } };
  }
  return keptInHand(facts, planned, handOf(facts, planned));
}

function keptInHand(facts: Pick<Facts, 'object'>, planned: PlannedEnd, hand: Hand): Kept | undefined {
  switch (hand.type) {
    case 'inHand':
    case 'read':
      return undefined;
    case 'searching': {
      const before = recordedBlock(facts);
      const condition = before?.reason === 'ReplacementBlocked' ? before : undefined;
      return { condition, requeue: hand.requeue, ...(hand.waits && { waits: hand.waits }) };
    }
    case 'none': {
      const { refusal, afterMs, found } = hand;
      const { instanceId } = planned.machine;
      const kept = `Machine ${instanceId} is kept: no other can be rented (${refusal.reason}).`;
      const condition = blockedFor(planned, 'ReplacementBlocked', `${kept} ${refusal.detail}`);
      const summary = `${whyOf(planned)} ${kept}`;
      return { condition, summary, requeue: { afterMs }, ...(found && { found }) };
    }
  }
}

function blockedFor(planned: PlannedEnd, reason: Reason, message: string): ConditionState {
  return { status: 'True', reason, message: `${whyOf(planned)} ${message}` };
}

/** Returns the block that is on record, as a condition of this object. */
function recordedBlock({ object }: Pick<Facts, 'object'>): ConditionState | undefined {
  const found = findCondition(object.status?.conditions, 'ReplacementBlocked');
  if (found?.status !== 'True' || !Object.hasOwn(reasons, found.reason)) return undefined;
  return { status: 'True', reason: found.reason as Reason, message: found.message };
}

function recordedReady({ object }: Pick<Facts, 'object'>): string | undefined {
  const ready = findCondition(object.status?.conditions, 'Ready');
  return ready?.status === 'True' ? ready.message : undefined;
}

/** Returns the condition of the step. A stalled object names the action for a person; its Ready stays. */
function withCondition(
  verdict: Verdict,
  planned: PlannedEnd,
  { condition, summary }: { readonly condition: ConditionState; readonly summary: string },
): Verdict {
  const exceeded = excess(planned);
  const common = {
    ...verdict,
    ReplacementBlocked: condition,
    ...(exceeded && { OverBudget: conditionState('True', exceeded.reason, exceeded.detail) }),
  };
  if (verdict.Stalled || verdict.Ready.reason === condition.reason) return common;
  if (verdict.Ready.status === 'True') return { ...common, Ready: { ...verdict.Ready, message: summary } };
  return { ...common, Reconciling: condition };
}

/**
 * Returns true for a cause of a whole account, which reports it itself, and which ends within moments as after a
 * restart.
 */
function isReportedElsewhere(reason: string): boolean {
  return facetsOf(reason).passes === 'asAccountReports';
}

function wasReported(facts: Pick<Facts, 'object'>): boolean {
  const before = recordedBlock(facts);
  return before !== undefined && !isReportedElsewhere(before.reason);
}

function beginOf(facts: Pick<Facts, 'object'>, { reason, message }: ConditionState): readonly EventNote[] {
  if (wasReported(facts) || isReportedElsewhere(reason)) return [];
  const type = reason === 'ReplacementBlocked' ? 'Warning' : 'Normal';
  return [{ type, reason: 'ReplacementBlocked', action: 'Replacing', note: message }];
}

/** Returns the end of a recorded block: the machine was replaced, or no other is due any more. */
export function withEndOfBlock(facts: Pick<Facts, 'object'>, step: Step, how: string): Step {
  if (step.type !== 'decision' || !step.status || !wasReported(facts)) return step;
  const note: EventNote = { type: 'Normal', reason: 'ReplacementBlocked', action: 'Replacing', note: how };
  return { ...step, events: [note, ...step.events] };
}

function sooner(left: Requeue, right: Requeue): Requeue {
  const times = [left.afterMs, right.afterMs].filter((time) => time !== undefined);
  return { ...left, ...right, ...(times.length > 0 && { afterMs: Math.min(...times) }) };
}
