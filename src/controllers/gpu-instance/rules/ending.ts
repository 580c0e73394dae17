import { annotations } from '../../../api/v1alpha1/names.ts';
import { type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import { machineCost } from '../../../instance/cost.ts';
import { formatDollars } from '../../../lib/money.ts';
import { backoffMs, decision } from '../decision.ts';
import type { Facts, OwnedMachine } from '../facts.ts';
import { destroyRepeatsAt, goneProof } from '../gone.ts';
import {
  avoidTarget,
  carriedFields,
  conditionState,
  endedFields,
  type Finding,
  type MachineFinding,
  withRow,
} from '../status.ts';
import type { Decision, DestroyMark, Step, Verdict } from '../types.ts';
import { machineFinding, type RecordedMachine, type StateIn, seenFields } from './machine-finding.ts';

/** Why and how firmly a machine is to end. */
export interface PlannedEnd {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  readonly detail?: string | undefined;
  /**
   * `lost`: it is of no use any more. `unwanted`: it works, and another is wanted. `limit`: the object may
   * have none any more. What may hold each of them back differs.
   */
  readonly kind: 'lost' | 'unwanted' | 'limit';
  readonly finding: MachineFinding;
}

/** Why, in a sentence. */
function whyOf({ reason, detail }: PlannedEnd): string {
  return detail ?? reasons[reason].sentence;
}

/**
 * Ends a recorded machine: destroy, prove gone, then let go of it. Nothing of it begins while something holds
 * it back; once the destroy was answered it is carried through.
 */
export function endMachine(facts: Facts, planned: PlannedEnd): Step {
  const mark = facts.memory.destroys.find((each) => each.instanceId === planned.machine.instanceId);
  if (mark) return awaitGone(facts, planned, mark);
  return showBlockedEnd(facts, planned) ?? destroy(facts, planned, 'Replacing');
}

function destroy(facts: Facts, planned: PlannedEnd, reason: 'Replacing' | 'OldMachineNotGone'): Decision {
  const { machine } = planned;
  const wait = facts.memory.destroyNotBefore - facts.steadyNow;
  const failing = facts.memory.destroyFailures >= MIN_REPORTED_FAILURES;
  const atWork = failing ? 'DestroyFailing' : reason;
  const detail = failing
    ? failingDetail(facts, machine.instanceId)
    : `Machine ${machine.instanceId} goes first.`;
  return decision({
    fields: carriedFields(facts),
    finding: endingFinding(planned, atWork, detail),
    actions: wait > 0 ? [] : [{ type: 'destroy', instanceId: machine.instanceId, reason: planned.reason }],
    record: { type: 'status' },
    events:
      wait > 0 || facts.memory.destroyFailures > 0
        ? []
        : [
            {
              type: planned.kind === 'lost' ? 'Warning' : 'Normal',
              reason: planned.reason,
              action: 'Replacing',
              note: `${whyOf(planned)} Machine ${machine.instanceId} is being destroyed.`,
            },
          ],
    requeue: { afterMs: wait > 0 ? wait : 1000 },
  });
}

/** Why the machine ends stands at Ready: after a crash that is what its end is remembered by. */
function endingFinding(
  planned: PlannedEnd,
  atWork: 'Replacing' | 'OldMachineNotGone' | 'DestroyFailing',
  detail: string,
): Finding {
  return {
    phase: 'Replacing',
    reason: planned.reason,
    detail: planned.detail,
    machine: planned.finding,
    atWork: { reason: atWork, detail },
  };
}

/** How many refused destroys in a row are no longer a hiccup. */
export const MIN_REPORTED_FAILURES = 3;

/** One destroy that does not succeed, with what it costs, and what is missing if that is known. */
export function failingDetail(facts: Facts, instanceId: string): string {
  const { account, object } = facts;
  const price = object.status?.cost?.pricePerHour;
  const lacksKey = facts.accountFacts?.mayDestroy === false && account.outsider === undefined;
  return `Machine ${instanceId} cannot be destroyed${price === undefined ? '' : ` and costs $${price}/h`}.${lacksKey ? NO_KEY : ''}`;
}

const NO_KEY =
  ' The key of its MarketplaceAccount may not destroy, and none that may is kept; keys of other accounts are not used. Put a key with the category instance_write into its Secret.';

function awaitGone(facts: Facts, planned: PlannedEnd, mark: DestroyMark): Step {
  const { machine } = planned;
  const proof = goneProof(facts, machine.instanceId);
  switch (proof.type) {
    case 'gone':
      return ended(facts, planned, mark.endedAt);
    case 'needsRead':
      return { type: 'read', requests: [{ type: 'machine', instanceId: machine.instanceId }] };
    case 'needsLogin':
      return { type: 'read', requests: [{ type: 'loginProof' }] };
    case 'present':
    case 'waiting':
      return stillThere(facts, planned, mark);
  }
}

/** A destroyed machine may be listed for a while; then the destroy is repeated, and the old machine said to stay. */
function stillThere(facts: Facts, planned: PlannedEnd, mark: DestroyMark): Decision {
  const overdueAt = destroyRepeatsAt(facts, mark);
  const isListed =
    facts.list !== undefined &&
    facts.list.begunSteady > overdueAt &&
    facts.list.ids.includes(planned.machine.instanceId);
  if (isListed) return destroy(facts, planned, 'OldMachineNotGone');
  const { conditions = [] } = facts.object.status ?? {};
  const isReported = conditions.some(({ reason }) => reason === 'OldMachineNotGone');
  return decision({
    fields: carriedFields(facts),
    finding: endingFinding(
      planned,
      isReported ? 'OldMachineNotGone' : 'Replacing',
      `Machine ${planned.machine.instanceId} goes first.`,
    ),
    requeue: { onList: true, afterMs: Math.max(1000, overdueAt - facts.steadyNow) },
  });
}

/** The machine is gone for certain: into the history with it. */
export function ended(facts: Facts, planned: Omit<PlannedEnd, 'finding'>, endedAt: number): Decision {
  const { machine, reason } = planned;
  const target = avoidTarget(facts, reason);
  const cost = machineCost(facts.object.status, endedAt);
  return decision({
    fields: endedFields(facts, { machine, reason, endedAt }),
    finding: {
      phase: planned.kind === 'limit' ? 'Failed' : 'Replacing',
      reason,
      detail: planned.detail,
      machine: { type: 'none' },
    },
    record: { type: 'status' },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceDestroyed',
        action: 'Destroying',
        note: `Machine ${machine.instanceId} is gone (${reason}); it cost $${formatDollars(cost)}.`,
      },
    ],
    avoid: target ? [{ target, reason }] : [],
    settled: [machine.instanceId],
    ended: { reason, cost },
    requeue: { afterMs: 0 },
  });
}

/**
 * Why this object itself began to end its machine, by what was recorded before the destroy. The answer to that
 * destroy may be lost with the process; that it was decided is not.
 */
export function reasonOfEnding({ object }: Facts): Reason | undefined {
  const { conditions = [] } = object.status ?? {};
  const atWork = conditions.find(({ type }) => type === 'Reconciling')?.reason;
  if (atWork === undefined || !ENDING.has(atWork)) return undefined;
  const why = conditions.find(({ type }) => type === 'Ready')?.reason;
  return isReason(why) ? why : 'Destroyed';
}

const ENDING: ReadonlySet<string> = new Set(['Replacing', 'OldMachineNotGone', 'DestroyFailing']);

function isReason(text: string | undefined): text is Reason {
  return text !== undefined && Object.hasOwn(reasons, text);
}

/** When a failed destroy is tried again. */
export function destroyRetryMs(facts: Facts): number {
  return Math.min(60_000, backoffMs(facts.memory.destroyFailures, facts.jitter));
}

/** What forbids to end a machine now, for people. */
interface Blocker {
  readonly reason: Reason;
  readonly detail?: string | undefined;
}

const blocker = (reason: Reason, detail?: string): Blocker => ({ reason, detail });

/** How soon it is looked again whether the end is still held back. */
const BLOCKED_RETRY_MS = 60_000;

/** The first thing that forbids to end this machine now. */
export function blockedBy(facts: Facts, planned: PlannedEnd): Blocker | undefined {
  const { object, account, uid } = facts;
  const { spec } = object;
  const { kind } = planned;
  // A budget that an annotation lifts is none: to keep the machine, raise the limit in the spec.
  if (kind === 'limit') return undefined;
  if (object.metadata.annotations?.[annotations.hold] !== undefined) return blocker('Held');
  if (spec.paused) return blocker('Paused');
  if (kind === 'lost' && spec.replacement.policy === 'Never')
    return blocker('ReplacementOff', planned.detail);
  // A machine that was taken over may be all that its object can ever have.
  const canRent = (spec.offers ?? []).length > 0 && spec.image !== undefined;
  if (kind === 'unwanted' && !canRent) return blocker('ReplacementOff', NOTHING_TO_RENT);
  if (kind === 'unwanted' && account.outsider === 'refused') return blocker('NamespaceNotAllowed');
  if (account.state !== 'ready') return blocker('AccountNotReady');
  const { breaker } = account.facts;
  if (breaker.type === 'closed') return undefined;
  const hasTurn = breaker.type === 'slow' && breaker.turn === uid && kind === 'lost';
  return hasTurn ? undefined : blocker('BreakerOpen', breaker.message);
}

const NOTHING_TO_RENT = 'No other machine can be rented: spec.offers or spec.image is missing.';

/** What is shown of a machine that is of no use, or beyond a limit, while its end is held back. */
export function showBlockedEnd(facts: Facts, planned: PlannedEnd): Decision | undefined {
  const by = blockedBy(facts, planned);
  if (!by) return undefined;
  const row = facts.list?.recorded;
  return decision({
    fields: row ? seenFields(facts, row) : carriedFields(facts),
    finding: {
      ...by,
      phase: planned.kind === 'lost' ? 'Lost' : 'Running',
      machine: planned.finding,
      budget: excess(planned),
    },
    requeue: { afterMs: BLOCKED_RETRY_MS },
  });
}

/** A machine that works stays as ready as it is and says what it waits for, or nobody would send it work meanwhile. */
export function withBlockedEnd(facts: Facts, planned: PlannedEnd, step: Step): Step {
  const by = blockedBy(facts, planned);
  if (!by || step.type !== 'decision' || !step.status) return step;
  const { fields, verdict } = step.status;
  const afterMs = Math.min(BLOCKED_RETRY_MS, step.requeue.afterMs ?? BLOCKED_RETRY_MS);
  return {
    ...step,
    status: { fields, verdict: waiting(verdict, planned, by) },
    requeue: { ...step.requeue, afterMs },
  };
}

/** What a person has to see to stands alone, and what holds back the end of a lost machine is said already. */
function waiting(verdict: Verdict, planned: PlannedEnd, { reason, detail }: Blocker): Verdict {
  if (verdict.Stalled || verdict.Ready.reason === reason) return verdict;
  const exceeded = excess(planned);
  const common = {
    ...verdict,
    ...(exceeded && { WithinBudget: conditionState('False', exceeded.reason, exceeded.detail) }),
  };
  const why = whyOf(planned);
  return verdict.Ready.status === 'True'
    ? {
        ...common,
        Ready: { ...verdict.Ready, message: `${why} ${conditionState('True', reason, detail).message}` },
      }
    : {
        ...common,
        Reconciling: conditionState('True', reason, `${why} ${detail ?? reasons[reason].sentence}`),
      };
}

/** The limit or price that the machine is to end for: it is exceeded, whatever holds the end back. */
function excess(planned: PlannedEnd): Finding['budget'] {
  const { reason } = planned;
  return reason === 'LimitReached' || reason === 'PriceRaised'
    ? { reason, detail: whyOf(planned) }
    : undefined;
}

/** For a machine that is not wanted to run, whatever it does now. */
export function stop(
  facts: Facts,
  recorded: RecordedMachine<StateIn<'running' | 'booting' | 'unrecognized'>>,
): Decision {
  return decision({
    fields: withRow(facts, recorded.state.row),
    finding: { phase: 'Stopping', reason: 'Stopping', machine: machineFinding(facts, recorded.state) },
    record: { type: 'status' },
    ...askToStop(facts, recorded.machine.instanceId),
  });
}

/** A machine that runs on although it was asked to stop is asked again. */
const STOP_AGAIN_MS = 30_000;

/** Asks at once, and again every half minute. */
export function askToStop(
  { memory, steadyNow }: Facts,
  instanceId: string,
): Pick<Decision, 'actions' | 'requeue'> {
  const wait = memory.stopAskedAt === undefined ? 0 : memory.stopAskedAt + STOP_AGAIN_MS - steadyNow;
  return {
    actions: wait > 0 ? [] : [{ type: 'stop', instanceId }],
    requeue: { afterMs: wait > 0 ? wait : STOP_AGAIN_MS },
  };
}
