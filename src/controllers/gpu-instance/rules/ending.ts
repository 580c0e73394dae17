import { listsAgree, type MachineRead, readAgrees } from '../../../accounts/beliefs/machine.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { facetsOf, isReason, type Reason, type ReasonWith, reasons } from '../../../api/v1alpha1/reasons.ts';
import { machineCost } from '../../../instance/cost.ts';
import { isOfSpec } from '../../../instance/repeated-failure.ts';
import { diskLoss } from '../../../instance/replacement-text.ts';
import { formatDollars } from '../../../lib/money.ts';
import { backoffMs, decision } from '../decision.ts';
import type { Facts, HeldFacts, OwnedMachine } from '../facts.ts';
import { destroyRepeatsAt, goneProof } from '../gone.ts';
import { type Confirmation, labelConfirmation } from '../record-proof.ts';
import {
  avoidTarget,
  billedNow,
  carriedFields,
  endedFields,
  type Finding,
  forgivenMachine,
  type MachineFinding,
  withRow,
} from '../status.ts';
import type { Decision, DestroyMark, SeenOffer, Step } from '../types.ts';
import { machineFinding, type RecordedMachine, type StateIn, seenFields } from './machine-finding.ts';

/** End of a machine: why, and how firmly. */
interface End {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  readonly detail?: string | undefined;
  /**
   * `lost`: it is useless. `unwanted`: it works, and another is desired. `limit`: the object may have none any more.
   * Different conditions delay each of them.
   */
  readonly kind: 'lost' | 'unwanted' | 'limit';
  readonly finding: MachineFinding;
  /** Offer in hand for the machine that follows. */
  readonly offer?: SeenOffer;
}

/** An end that has not begun: the `ground` of its reason says what has to be confirmed before. */
export interface PlannedEnd extends End {
  readonly reason: EndReason;
}

/** Returns the reason of an end, as a sentence. */
export function whyOf({ reason, detail }: End): string {
  return detail ?? reasons[reason].sentence;
}

/**
 * Ends a recorded machine: destroy, prove that it is gone, then release it. It does not begin while a condition blocks
 * it; an answered destroy is always completed. Undefined while the reason of the end is not confirmed: the machine is
 * treated as one that stays.
 */
export function endMachine(facts: Facts, planned: PlannedEnd): Step | undefined {
  const mark = facts.memory.destroys.find((each) => each.instanceId === planned.machine.instanceId);
  if (mark) return awaitGone(facts, planned, mark);
  const blocked = showBlockedEnd(facts, planned);
  if (blocked) return blocked;
  const confirmation = confirmationOf(facts, planned);
  if (confirmation === 'unconfirmed') return undefined;
  return confirmation === 'confirmed' ? destroy(facts, planned, 'Replacing') : confirmation;
}

/** Every reason that ends a machine: a plan with another reason does not compile. */
type EndReason = ReasonWith<'ground'>;

/**
 * Returns the confirmation that a machine may end now: two complete lists agree, the breaker has evaluated a list since
 * the end was planned, and a read of the machine agrees. A machine that only the reply to its rental names also needs
 * its label.
 */
export function confirmationOf(
  facts: Facts,
  { reason, machine }: Pick<PlannedEnd, 'reason' | 'machine'>,
): Confirmation {
  if (facetsOf(reason).endsInMass && facts.account.facts?.isEndJudged !== true) return 'unconfirmed';
  const byLabel = labelConfirmation(facts, machine);
  return byLabel === 'confirmed' ? confirmedGround(facts, reason, machine) : byLabel;
}

function confirmedGround(
  facts: Pick<Facts, 'machine'>,
  reason: EndReason,
  { instanceId }: OwnedMachine,
): Confirmation {
  const { ground } = reasons[reason];
  if (ground === 'request') return 'confirmed';
  const machine = facts.machine.list?.recorded;
  if (machine && !listsAgree(machine, ground)) return 'unconfirmed';
  return readConfirmation(facts, instanceId, (read) =>
    machine ? readAgrees(machine, read, ground) : !isServing(read),
  );
}

/**
 * Returns the confirmation by the read of this reconcile. A read that finds the machine must agree; one that finds none
 * agrees only with lists that do not show it.
 */
export function readConfirmation(
  { machine: { confirmed, list } }: Pick<Facts, 'machine'>,
  instanceId: string,
  agrees: (read: MachineRead) => boolean,
): Confirmation {
  if (confirmed?.instanceId !== instanceId)
    return { type: 'read', requests: [{ type: 'confirm', instanceId }] };
  const { read } = confirmed;
  if (read === 'failed') return 'unconfirmed';
  const isAgreed = read === 'absent' ? list?.ids.includes(instanceId) === false : agrees(read);
  return isAgreed ? 'confirmed' : 'unconfirmed';
}

/** Returns true if the machine serves: one without a list may still run. */
const isServing = ({ state }: MachineRead) => state === 'running';

function destroy(facts: HeldFacts, planned: End, reason: 'Replacing' | 'OldMachineNotGone'): Decision {
  const { machine } = planned;
  const wait = facts.memory.destroyNotBefore - facts.clock.steadyNow;
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
              note: destroyNote(facts, planned),
            },
          ],
    requeue: { afterMs: wait > 0 ? wait : 1000 },
  });
}

/** Returns the note on a destroy. It names the loss if the machine works: a person may then have data there. */
function destroyNote({ machine: { list } }: Pick<Facts, 'machine'>, planned: End): string {
  const { machine, offer } = planned;
  if (!offer) return `${whyOf(planned)} Machine ${machine.instanceId} is being destroyed.`;
  const price = offer.pricePerHour === undefined ? '' : ` ($${formatDollars(offer.pricePerHour)}/h)`;
  const loss = diskLoss(list?.recorded?.diskGB);
  return `${whyOf(planned)} Destroying machine ${machine.instanceId} for offer ${offer.id}${price}: ${loss}.`;
}

/** Returns the finding that keeps the reason of the end at Ready, from which it is restored after a crash. */
function endingFinding(
  planned: End,
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

/** Minimum number of refused destroys in a row before they are reported. */
export const MIN_REPORTED_FAILURES = 3;

/** Returns the detail of a failing destroy, with the cost of the machine, and with the missing permission if known. */
export function failingDetail(
  facts: Pick<Facts, 'object' | 'machine' | 'account' | 'memory'>,
  instanceId: string,
): string {
  const { account } = facts;
  const price = billedNow(facts);
  const lacksKey = facts.account.facts?.mayDestroy === false && account.outsider === undefined;
  return `Machine ${instanceId} cannot be destroyed${price === undefined ? '' : ` and costs $${price}/h`}.${lacksKey ? NO_KEY : ''}`;
}

const NO_KEY =
  ' The key of its MarketplaceAccount may not destroy, and none that may is kept; keys of other accounts are not used. Put a key with the category instance_write into its Secret.';

/** Proves that a machine is gone whose destroy was answered, and asks again if it stays. */
export function awaitGone(facts: Facts, planned: End, mark: DestroyMark): Step {
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

/**
 * Returns the step for a destroyed machine that is still listed: after a while the destroy is repeated, and the old
 * machine is reported.
 */
function stillThere(facts: HeldFacts, planned: End, mark: DestroyMark): Decision {
  const overdueAt = destroyRepeatsAt(facts, mark);
  const isListed =
    facts.machine.list !== undefined &&
    facts.machine.list.begunSteady > overdueAt &&
    facts.machine.list.ids.includes(planned.machine.instanceId);
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
    requeue: { onList: true, afterMs: Math.max(1000, overdueAt - facts.clock.steadyNow) },
  });
}

/** Waits for a list while it is not known whether the machine is still there. */
export function awaitList(facts: Pick<Facts, 'object'>, planned: PlannedEnd): Decision {
  const detail = `Machine ${planned.machine.instanceId} goes first.`;
  return decision({
    fields: carriedFields(facts),
    finding: endingFinding(planned, 'Replacing', detail),
    requeue: { onList: true, afterMs: 5_000 },
  });
}

/**
 * Returns the decision for a machine that is certainly gone: it moves into the history. `provenGoneAt`: used if no
 * reply to a destroy dates the end.
 */
export function ended(
  facts: Pick<Facts, 'object' | 'account' | 'clock' | 'memory'>,
  planned: Omit<End, 'finding'>,
  endedAt: number,
  provenGoneAt?: number,
): Decision {
  const { machine, reason } = planned;
  const fields = endedFields(facts, { machine, reason, endedAt, provenGoneAt });
  const isSpecs = isOfSpec(fields.repeatedFailure);
  const target = isSpecs ? undefined : avoidTarget(facts, reason);
  const forgiven = isSpecs ? forgivenMachine(facts) : undefined;
  const cost = machineCost(facts.object.status, endedAt);
  return decision({
    fields,
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
    ...(forgiven && { forgiven: { target: forgiven, reason } }),
    settled: [machine.instanceId],
    ended: { reason, cost },
    requeue: { afterMs: 0 },
  });
}

/**
 * Returns the reason why this object itself began to end its machine, from the record before the destroy. The answer to
 * that destroy may be lost with the process; the decision is not.
 */
export function reasonOfEnding({ object }: Pick<Facts, 'object'>): Reason | undefined {
  const { conditions = [] } = object.status ?? {};
  const atWork = conditions.find(({ type }) => type === 'Reconciling')?.reason;
  if (!facetsOf(atWork).endsMachine) return undefined;
  const why = conditions.find(({ type }) => type === 'Ready')?.reason;
  return why !== undefined && isReason(why) ? why : 'Destroyed';
}

/** Returns the time of the next attempt after a failed destroy. */
export function destroyRetryMs(facts: Pick<Facts, 'clock' | 'memory'>): number {
  return Math.min(60_000, backoffMs(facts.memory.destroyFailures, facts.clock.jitter));
}

/** Obstacle to the end of a machine now, for people. */
interface Blocker {
  readonly reason: Reason;
  readonly detail?: string | undefined;
}

const blocker = (reason: Reason, detail?: string): Blocker => ({ reason, detail });

/** Interval of checks whether the end is still blocked. */
export const BLOCKED_RETRY_MS = 60_000;

/** Returns the first condition that forbids to end this machine now. */
export function blockedBy(facts: Facts, planned: PlannedEnd): Blocker | undefined {
  const { object, account } = facts;
  const { spec } = object;
  const { kind } = planned;
  // A budget that an annotation lifts is none: to keep the machine, raise the limit in the spec.
  if (kind === 'limit') return heldInMass(facts);
  if (object.metadata.annotations?.[annotations.hold] !== undefined) return blocker('Paused', HELD);
  if (spec.paused) return blocker('Paused');
  if (kind === 'lost' && spec.replacement.policy === 'Never')
    return blocker('ReplacementOff', keptDetail(facts, planned));
  // A machine that was taken over may be all that its object can ever have.
  const canRent = (spec.offers ?? []).length > 0 && spec.image !== undefined;
  if (kind === 'unwanted' && !canRent) return blocker('ReplacementOff', NOTHING_TO_RENT);
  if (kind === 'unwanted' && account.outsider === 'refused') return blocker('NotAllowedByAccount');
  return accountBlocker(facts, planned);
}

function accountBlocker(facts: Facts, planned: PlannedEnd): Blocker | undefined {
  const {
    account,
    purchase: { uid },
  } = facts;
  // Another machine could not be rented: a lost one may come back, and its disk stays.
  if (facts.account.facts?.suspended && account.outsider === undefined)
    return blocker('Suspended', suspendedDetail(facts, planned));
  if (account.state !== 'ready') return blocker('AccountNotReady');
  const { breaker } = account.facts;
  if (breaker.type === 'closed') return undefined;
  const mayTakeTurn = planned.kind === 'lost' || facetsOf(planned.reason).endsInMass === true;
  const hasTurn = breaker.type === 'slow' && breaker.turn === uid && mayTakeTurn;
  return hasTurn ? undefined : blocker('BreakerOpen', breaker.message);
}

/** Returns the detail of a kept machine with its ongoing price, without which the object would seem to cost nothing. */
function keptDetail(facts: Pick<Facts, 'object' | 'machine' | 'memory'>, planned: PlannedEnd): string {
  const price = billedNow(facts);
  const bills = price === undefined ? 'may still bill' : `bills $${price}/h`;
  const { instanceId } = planned.machine;
  return `${whyOf(planned).replace(/\.$/, '')}; machine ${instanceId} is kept (policy Never) and ${bills} until it is destroyed.`;
}

/** Says what bills meanwhile: a suspended account is to spend no more. */
function suspendedDetail(
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  { kind, machine }: PlannedEnd,
): string {
  const price = billedNow(facts);
  const bills = price === undefined ? 'bills' : `bills $${price}/h`;
  const state = kind === 'lost' ? 'Lost machine' : 'Machine';
  return `${state} ${machine.instanceId} is kept and ${bills}: its account is suspended, so no other can be rented.`;
}

/**
 * Returns the block if many machines reach a limit at once: they wait for a person or the maximum hold, because the
 * figures may be wrong.
 */
function heldInMass({ account: { facts: accountFacts } }: Pick<Facts, 'account'>): Blocker | undefined {
  const breaker = accountFacts?.breaker;
  const isHeld = breaker?.type === 'open' && breaker.cause === 'massEnds';
  return isHeld ? blocker('BreakerOpen', breaker.message) : undefined;
}

const HELD = `The annotation ${annotations.hold} keeps the machine from being replaced; limits of the spec end it all the same.`;

const NOTHING_TO_RENT = 'No other machine can be rented: spec.offers or spec.image is missing.';

/** Status of a machine that is useless or beyond a limit while its end is blocked. */
export function showBlockedEnd(facts: Facts, planned: PlannedEnd): Decision | undefined {
  const by = blockedBy(facts, planned);
  if (!by) return undefined;
  const row = facts.machine.list?.recorded;
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

/** Returns the exceeded limit or price for which the machine is to end, even if a condition delays the end. */
export function excess(planned: PlannedEnd): Finding['budget'] {
  const { reason } = planned;
  return reason === 'LimitReached' || reason === 'PriceRaised'
    ? { reason, detail: whyOf(planned) }
    : undefined;
}

/** Stops a machine that should not run, whatever its present state. */
export function stop(
  facts: HeldFacts,
  recorded: RecordedMachine<StateIn<'running' | 'booting' | 'unrecognized'>>,
): Decision {
  return decision({
    fields: withRow(facts, recorded.state.row),
    finding: { phase: 'Stopping', reason: 'Stopping', machine: machineFinding(facts, recorded.state) },
    record: { type: 'status' },
    ...askToStop(facts, recorded.machine.instanceId),
  });
}

/** Interval after which a stop is repeated for a machine that keeps running. */
const STOP_AGAIN_MS = 30_000;

/** Asks at once, and again every half minute. */
export function askToStop(
  { memory, clock: { steadyNow } }: Pick<Facts, 'clock' | 'memory'>,
  instanceId: string,
): Pick<Decision, 'actions' | 'requeue'> {
  const wait = memory.stopAskedAt === undefined ? 0 : memory.stopAskedAt + STOP_AGAIN_MS - steadyNow;
  return {
    actions: wait > 0 ? [] : [{ type: 'stop', instanceId }],
    requeue: { afterMs: wait > 0 ? wait : STOP_AGAIN_MS },
  };
}
