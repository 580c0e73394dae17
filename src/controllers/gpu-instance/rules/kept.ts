import { facetsOf, type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { conditionState } from '../conditions.ts';
import { type Added, withAdded, writesStatus } from '../decision.ts';
import type { Facts } from '../facts.ts';
import type { ConditionState, Decision, Requeue, Step, Verdict } from '../types.ts';
import { BLOCKED_RETRY_MS, blockedBy, excess, type PlannedEnd, whyOf } from './ending.ts';
import { type Hand, handOf } from './in-hand.ts';

/** Reason why a machine is kept although its replacement is due, and the next reconcile. */
interface Kept {
  /** Undefined while that is not known yet and was not reported before. */
  readonly condition: ConditionState | undefined;
  /** Short form of the condition for the message of `Ready`, which stays True; undefined: the recorded message stays. */
  readonly summary?: string;
  readonly requeue: Requeue;
  readonly waits?: Decision['waits'];
  /** Set in the reconcile that found the cause. */
  readonly found?: Decision['blocked'];
}

/**
 * Returns the step with the condition ReplacementBlocked, if a replacement is due and a person, the account or a lack of
 * offers blocks it. The readiness of the machine is unchanged. An event reports the first occurrence.
 */
export function withKeptMachine(facts: Facts, planned: PlannedEnd, step: Step): Step {
  if (!writesStatus(step) || step.status.verdict.phase === 'Replacing') return step;
  const kept = keptBy(facts, planned);
  if (!kept) return step;
  const { condition, requeue, waits, found } = kept;
  const { verdict } = step.status;
  const summary = kept.summary ?? recordedReady(facts) ?? verdict.Ready.message;
  const added: Added<KeptConditions> = {
    ...(condition && {
      conditions: conditionsOf(verdict, planned, { condition, summary }),
      events: beginOf(facts, condition),
    }),
    requeue,
  };
  return { ...withAdded(step, added), ...(waits && { waits }), ...(found && { blocked: found }) };
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

type KeptConditions = 'ReplacementBlocked' | 'OverBudget' | 'Reconciling' | 'Ready';

/** Returns the conditions of the block. A stalled object names the action for a person; its Ready stays. */
function conditionsOf(
  verdict: Verdict,
  planned: PlannedEnd,
  { condition, summary }: { readonly condition: ConditionState; readonly summary: string },
): Partial<Pick<Verdict, KeptConditions>> {
  const exceeded = excess(planned);
  const common = {
    ReplacementBlocked: condition,
    ...(exceeded && { OverBudget: conditionState('True', exceeded.reason, exceeded.detail) }),
  };
  if (verdict.Stalled || verdict.Ready.reason === condition.reason) return common;
  if (verdict.Ready.status === 'True') return { ...common, Ready: { ...verdict.Ready, message: summary } };
  return { ...common, Reconciling: condition };
}

/**
 * Returns true for a cause that affects a whole account, which reports it itself, or that ends within moments, such
 * as after a restart.
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

/** Returns the end of a recorded block: the machine was replaced, or no replacement is due any more. */
export function withEndOfBlock(facts: Pick<Facts, 'object'>, step: Step, how: string): Step {
  if (step.type !== 'decision' || !step.status || !wasReported(facts)) return step;
  const note: EventNote = { type: 'Normal', reason: 'ReplacementBlocked', action: 'Replacing', note: how };
  return { ...step, events: [note, ...step.events] };
}
