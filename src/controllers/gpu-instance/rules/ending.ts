import { listsAgree, type MachineRead, readAgrees } from '../../../accounts/beliefs/machine.ts';
import type { BreakerState } from '../../../accounts/breaker.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { facetsOf, isReason, type Reason, type ReasonWith, reasons } from '../../../api/v1alpha1/reasons.ts';
import { machineCost } from '../../../instance/cost.ts';
import { isOfSpec } from '../../../instance/repeated-failure.ts';
import { diskLoss } from '../../../instance/replacement-text.ts';
import { formatDollars } from '../../../lib/money.ts';
import { uidOf } from '../../../runtime/kube/kube-object.ts';
import { billedNow } from '../billing.ts';
import type { Finding, MachineFinding } from '../conditions.ts';
import { backoffMs, decision } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { destroyRepeatsAt, goneProof } from '../gone.ts';
import { avoidTarget, endedFields, forgivenMachine } from '../history.ts';
import { idleStopOf } from '../idle.ts';
import { budgetStopOf } from '../limits.ts';
import { carriedFields, withRow } from '../machine-fields.ts';
import { type Confirmation, labelConfirmation } from '../record-proof.ts';
import type { Decision, DestroyMark, OwnedMachine, SeenOffer, Step } from '../types.ts';
import { machineFinding, type RecordedMachine, type StateIn, seenFields } from './machine-finding.ts';

/** End of a machine: reason, kind and finding. */
interface End {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  readonly detail?: string | undefined;
  /**
   * `lost`: the machine does not work. `unwanted`: it works, but the object needs another one. `limit`: the object
   * may no longer have a machine. `idle`: it works without a load. `finished`: its run has a result. Different
   * conditions delay each kind.
   */
  readonly kind: 'lost' | 'unwanted' | 'limit' | 'idle' | 'finished';
  readonly finding: MachineFinding;
  /** Available offer for the next machine. */
  readonly offer?: SeenOffer;
}

/** End that has not begun: the `ground` of its reason determines what must be confirmed first. */
export interface PlannedEnd extends End {
  readonly reason: EndReason;
}

/** Returns the kind of an end from the reason in the record. */
export function kindOf(reason: Reason): End['kind'] {
  if (reason === 'LimitReached') return 'limit';
  if (facetsOf(reason).endsRun) return 'finished';
  return reason === 'Idle' ? 'idle' : 'lost';
}

/** Returns the reason of an end, as a sentence. */
export function whyOf({ reason, detail }: End): string {
  return detail ?? reasons[reason].sentence;
}

/**
 * Ends a recorded machine: destroys it, proves that it is gone, then releases it. Conditions may block the beginning;
 * an answered destroy is always completed. Undefined while the reason of the end is not confirmed: the machine is
 * then treated as a machine that stays.
 */
export function endMachine(facts: HeldFacts, planned: PlannedEnd): Step | undefined {
  const mark = facts.memory.destroys.find((each) => each.instanceId === planned.machine.instanceId);
  if (mark) return awaitGone(facts, planned, mark);
  const blocked = showBlockedEnd(facts, planned);
  if (blocked) return blocked;
  const confirmation = confirmationOf(facts, planned);
  if (confirmation === 'unconfirmed') return undefined;
  return confirmation === 'confirmed' ? decideDestroy(facts, planned, 'Replacing') : confirmation;
}

/** Every reason that ends a machine: a plan with another reason does not compile. */
type EndReason = ReasonWith<'ground'>;

/**
 * Returns the confirmation that a machine may end now. Lists and a read must agree on the ground of the reason,
 * unless the ground is a request. If the reason can end many machines, the breaker must have evaluated a list since
 * the end was planned. A machine that only the reply to its rental names also needs its label.
 */
export function confirmationOf(
  facts: Pick<Facts, 'machine' | 'account'>,
  { reason, machine }: Pick<PlannedEnd, 'reason' | 'machine'>,
): Confirmation {
  if (facetsOf(reason).endsInMass && facts.account.facts?.isEndJudged !== true) return 'unconfirmed';
  const byLabel = labelConfirmation(facts, machine.instanceId);
  return byLabel === 'confirmed' ? confirmedGround(facts, reason, machine) : byLabel;
}

function confirmedGround(
  facts: Pick<Facts, 'machine'>,
  reason: EndReason,
  { instanceId }: OwnedMachine,
): Confirmation {
  const { ground } = reasons[reason];
  if (ground === 'request') return 'confirmed';
  const row = facts.machine.list?.recorded;
  if (row && !listsAgree(row, ground)) return 'unconfirmed';
  return readConfirmation(facts, instanceId, (read) =>
    row ? readAgrees(row, read, ground) : !isServing(read),
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

/** Returns true if the read shows a running machine: without a list that shows it, it may still work. */
const isServing = ({ state }: MachineRead) => state === 'running';

function decideDestroy(facts: HeldFacts, planned: End, reason: 'Replacing' | 'OldMachineNotGone'): Decision {
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
    phase: planned.kind === 'finished' ? 'Stopping' : 'Replacing',
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

/** Proves that a destroyed machine is gone, and repeats the destroy while lists still show it. */
export function awaitGone(facts: HeldFacts, planned: End, mark: DestroyMark): Step {
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
  if (isListed) return decideDestroy(facts, planned, 'OldMachineNotGone');
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

/** Phase of the object after each kind of end. */
const PHASE_AFTER = {
  ...({ lost: 'Replacing', unwanted: 'Replacing', limit: 'Failed', idle: 'Stopped' } as const),
  finished: 'Stopping',
} as const;

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
      phase: PHASE_AFTER[planned.kind],
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
  const { conditions = [], answered } = object.status ?? {};
  if (answered?.reason !== undefined && isReason(answered.reason)) return answered.reason;
  const atWork = conditions.find(({ type }) => type === 'Reconciling')?.reason;
  if (!facetsOf(atWork).endsMachine) return undefined;
  const why = conditions.find(({ type }) => type === 'Ready')?.reason;
  return why !== undefined && isReason(why) ? why : 'Destroyed';
}

/** Returns the delay before the next attempt after a failed destroy, in milliseconds. */
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

type BlockerOf = (facts: HeldFacts, planned: PlannedEnd) => Blocker | undefined;

/** Returns the first obstacle that forbids to end this machine now. */
export function blockedBy(facts: HeldFacts, planned: PlannedEnd): Blocker | undefined {
  for (const blockerOf of BLOCKERS[planned.kind]) {
    const found = blockerOf(facts, planned);
    if (found) return found;
  }
  return undefined;
}

/** Returns the first obstacle that forbids to end an idle machine now. */
export function blockedIdle(facts: Pick<Facts, 'object' | 'account'>): Blocker | undefined {
  return byPerson(facts) ?? byAccount(facts) ?? byIdleBreaker(facts);
}

/** Obstacles of each kind of end, in the order in which they are reported. */
const BLOCKERS: Readonly<Record<End['kind'], readonly BlockerOf[]>> = {
  lost: [byPerson, byPolicy, bySuspension, byAccount, byBreaker],
  unwanted: [byPerson, byOffers, byNamespace, bySuspension, byAccount, byBreaker],
  // Neither the annotation hold nor spec.paused keeps the machine: only a higher limit in the spec does.
  limit: [byMassEnds],
  // An idle machine is not replaced, so its end needs no account that can rent.
  idle: [blockedIdle],
  // The machine has no more work, whatever the state of the account and of its other machines.
  finished: [byPerson],
};

function byPerson({ object }: Pick<Facts, 'object'>): Blocker | undefined {
  if (object.metadata.annotations?.[annotations.hold] !== undefined) return blocker('Paused', HELD);
  return object.spec.paused ? blocker('Paused') : undefined;
}

function byPolicy(
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  planned: PlannedEnd,
): Blocker | undefined {
  const { replacement } = facts.object.spec;
  return replacement.policy === 'Never' ? blocker('ReplacementOff', keptDetail(facts, planned)) : undefined;
}

/** Returns the block of an object that can rent no machine: an adopted machine may be its only one. */
function byOffers({ object: { spec } }: Pick<Facts, 'object'>): Blocker | undefined {
  const canRent = (spec.offers ?? []).length > 0 && spec.image !== undefined;
  return canRent ? undefined : blocker('ReplacementOff', NOTHING_TO_RENT);
}

function byNamespace({ account }: Pick<Facts, 'account'>): Blocker | undefined {
  return account.outsider === 'refused' ? blocker('NotAllowedByAccount') : undefined;
}

/** Returns the block of a suspended account, which rents no other machine. A lost one may recover, and its disk is kept. */
function bySuspension(
  facts: Pick<Facts, 'object' | 'machine' | 'account' | 'memory'>,
  planned: PlannedEnd,
): Blocker | undefined {
  if (facts.account.facts?.suspended && facts.account.outsider === undefined)
    return blocker('Suspended', suspendedDetail(facts, planned));
  return undefined;
}

function byAccount({ account }: Pick<Facts, 'account'>): Blocker | undefined {
  return account.state === 'ready' ? undefined : blocker('AccountNotReady');
}

function byBreaker(
  { object, account }: Pick<Facts, 'object' | 'account'>,
  { kind, reason }: PlannedEnd,
): Blocker | undefined {
  const breaker = account.facts?.breaker;
  if (!breaker || breaker.type === 'closed') return undefined;
  const mayTakeTurn = kind === 'lost' || facetsOf(reason).endsInMass === true;
  const hasTurn = mayTakeTurn && isTurnOf(object, breaker);
  return hasTurn ? undefined : blocker('BreakerOpen', breaker.message);
}

/**
 * Returns the block if many machines reach a limit at the same time: they wait for a person or the maximum hold,
 * because the figures may be wrong.
 */
function byMassEnds({ account }: Pick<Facts, 'account'>): Blocker | undefined {
  const breaker = account.facts?.breaker;
  const isHeld = breaker?.type === 'open' && breaker.cause === 'massEnds';
  return isHeld ? blocker('BreakerOpen', breaker.message) : undefined;
}

/**
 * Returns the block of an idle end by the breaker. If many machines become idle at the same time, the marketplace may
 * show no utilization at all. Then a person must decide: neither a calm breaker nor its maximum hold is proof.
 */
function byIdleBreaker({ object, account }: Pick<Facts, 'object' | 'account'>): Blocker | undefined {
  const breaker = account.facts?.breaker;
  if (!breaker || breaker.type === 'closed') return undefined;
  const isReleased = breaker.type === 'slow' && breaker.releasedBy === 'person';
  if (isReleased && isTurnOf(object, breaker)) return undefined;
  const isForPerson = breaker.type === 'slow' ? !isReleased : breaker.cause === 'massEnds';
  return blocker('BreakerOpen', isForPerson ? `${breaker.message} ${CONFIRM_IDLE}` : breaker.message);
}

/** Returns true if a released breaker lets this object end its machine next. */
export function isTurnOf(object: Facts['object'], breaker: BreakerState | undefined): boolean {
  return breaker?.type === 'slow' && breaker.turn === uidOf(object);
}

/** Returns the detail of a kept machine with its ongoing price, without which the object would seem to cost nothing. */
function keptDetail(facts: Pick<Facts, 'object' | 'machine' | 'memory'>, planned: PlannedEnd): string {
  const price = billedNow(facts);
  const bills = price === undefined ? 'may still bill' : `bills $${price}/h`;
  const { instanceId } = planned.machine;
  return `${whyOf(planned).replace(/\.$/, '')}; machine ${instanceId} is kept (policy Never) and ${bills} until it is destroyed.`;
}

/** Returns the detail of a machine that is kept because its account is suspended, with its ongoing price. */
function suspendedDetail(
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  { kind, machine }: PlannedEnd,
): string {
  const price = billedNow(facts);
  const bills = price === undefined ? 'bills' : `bills $${price}/h`;
  const state = kind === 'lost' ? 'Lost machine' : 'Machine';
  return `${state} ${machine.instanceId} is kept and ${bills}: its account is suspended, so no other can be rented.`;
}

const CONFIRM_IDLE = `If they are idle indeed, set the annotation ${annotations.closeBreaker} on the MarketplaceAccount.`;

const HELD = `The annotation ${annotations.hold} keeps the machine from being replaced; limits of the spec end it all the same.`;

const NOTHING_TO_RENT = 'No other machine can be rented: spec.offers or spec.image is missing.';

/** Phase of the object while the end of its machine is blocked. */
const PHASE_WHILE_BLOCKED = {
  ...({ lost: 'Lost', unwanted: 'Running', limit: 'Running', idle: 'Running' } as const),
  finished: 'Stopped',
} as const;

/** Returns the decision for a machine whose end is blocked; undefined if nothing blocks it. */
export function showBlockedEnd(facts: HeldFacts, planned: PlannedEnd): Decision | undefined {
  const by = blockedBy(facts, planned);
  if (!by) return undefined;
  const row = facts.machine.list?.recorded;
  return decision({
    fields: row ? seenFields(facts, row) : carriedFields(facts),
    finding: {
      ...by,
      phase: PHASE_WHILE_BLOCKED[planned.kind],
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

/** Stops a machine that should not run, whatever its present state. `detail`: why, if not by powerState. */
export function decideStop(
  facts: HeldFacts,
  recorded: RecordedMachine<StateIn<'running' | 'booting' | 'unrecognized'>>,
  detail = budgetStopOf(facts) ?? idleStopOf(facts),
): Decision {
  return decision({
    fields: withRow(facts, recorded.state.row),
    finding: {
      ...{ phase: 'Stopping', reason: 'Stopping', detail },
      machine: machineFinding(facts, recorded.state),
    },
    record: { type: 'status' },
    ...askToStop(facts, recorded.machine.instanceId),
  });
}

/** Interval after which a stop is repeated for a machine that keeps running. */
const STOP_AGAIN_MS = 30_000;

/** Requests a stop immediately, and repeats it every half minute. */
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
