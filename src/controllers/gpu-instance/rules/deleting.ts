import type { Machine } from '../../../accounts/beliefs/machine.ts';
import { MACHINE_FINALIZER } from '../../../api/v1alpha1/names.ts';
import { reasons } from '../../../api/v1alpha1/reasons.ts';
import { accountKey, accountRefOf } from '../../../instance/account-ref.ts';
import { keptPerHour, totalCost } from '../../../instance/cost.ts';
import { goneAt } from '../../../instance/machine-fuses.ts';
import { isFailing, isStopped, recordedState, shownStatus } from '../../../instance/machine-state.ts';
import { isRun, outcomeOf } from '../../../instance/run.ts';
import { formatDollars } from '../../../lib/money.ts';
import { storedForm } from '../../../lib/stored-form.ts';
import { parseTime } from '../../../lib/time.ts';
import { makeRetainedLabel } from '../../../ownership/label.ts';
import { startsInWindow } from '../../../ownership/ownership.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { billedNow } from '../billing.ts';
import { awaitCandidates } from '../candidates.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import { attemptOf, type Facts, type HeldFacts, type OwnershipFacts } from '../facts.ts';
import { destroyAnsweredAt, type GoneProof, goneProof, isDestroyPending, missingBy } from '../gone.ts';
import { carriedFields } from '../machine-fields.ts';
import { withdraw } from '../publication.ts';
import type { Confirmation } from '../record-proof.ts';
import { listsAgreeAfter } from '../settlement.ts';
import { blockedByRecord, newestLabelled } from '../stage.ts';
import { confirmedByLabel } from '../surplus.ts';
import type { Action, Decision, ListedMachine, ListView, OwnedMachine, Requeue, Step } from '../types.ts';
import { cannotStop } from '../unsupported.ts';
import { graceLeftMs, isGraceLeft } from './completion.ts';
import { awaitSecondLabel, confirmDisowned } from './disowned.ts';
import {
  askToStop,
  destroyRetryMs,
  failingDetail,
  MIN_REPORTED_FAILURES,
  readConfirmation,
} from './ending.ts';
import { whatIsMissing } from './pending.ts';

/**
 * Rules of teardown: first the machines of this object that may bill, then the finalizer. It never gives up; only a
 * person releases a machine, by `deletionPolicy: Retain`.
 */
const RULES: readonly Rule<undefined>[] = [
  {
    name: 'not-guarded',
    because: 'The finalizer is gone, so no machine is guarded any more.',
    decide: ({ object }) =>
      object.metadata.finalizers?.includes(MACHINE_FINALIZER) ? undefined : decision({}),
  },
  {
    name: 'observed-only',
    because: 'adopt.policy is Observe: the operator never ends a machine that it only watches.',
    decide: (facts) =>
      facts.object.spec.adopt?.policy === 'Observe'
        ? decideRelease(facts, noteGone('The machine was only watched and stays as it is.'))
        : undefined,
  },
  {
    name: 'never-rented',
    because: 'The object has no intent and no claim, so it never rented a machine.',
    decide: neverRented,
  },
  {
    name: 'leave-service',
    because: 'The Service must not send requests to a machine that ends.',
    decide: withdraw,
  },
  {
    name: 'give-up-machine',
    because: 'deletionPolicy keeps the machine, and no account is left to check it with.',
    decide: giveUp,
  },
  {
    name: 'record-unusable',
    because: 'A newer version wrote the record, and only that version can read it.',
    decide: recordUnusable,
  },
  {
    name: 'settled-before',
    because: 'The account is deleted, and this object has no machine and no open purchase.',
    decide: settledBefore,
  },
  {
    name: 'wait-for-account',
    because: 'Only a verified API key can destroy a machine.',
    decide: (facts) => (facts.account.facts ? undefined : waitingForKey(facts)),
  },
  {
    name: 'wait-for-list',
    because: 'Only a complete list shows all machines of this object.',
    decide: ({ machine: { list } }) =>
      list ? undefined : decision({ requeue: { onList: true, afterMs: 5_000 } }),
  },
  {
    name: 'await-second-list',
    because: 'A list shows another label on the recorded machine, so it may not belong to this object.',
    decide: ({ machine: { recordProof } }) => (recordProof === 'disputed' ? awaitSecondLabel() : undefined),
  },
  {
    name: 'confirm-label',
    because: 'A label on one list is no proof: two lists and a read must agree.',
    decide: confirmLabels,
  },
  {
    name: 'settle-first',
    because: 'A rental without a known result may still create a machine.',
    decide: settleFirst,
  },
  {
    name: 'stop-machine',
    because: 'deletionPolicy is Stop: the machine is stopped, and its disk is kept.',
    decide: stopFirst,
  },
  {
    name: 'stop-run',
    because: 'The program of a run may save its work within completion.stopGrace.',
    decide: stopRun,
  },
  {
    name: 'destroy-machines',
    because: 'Every machine of a deleted object is destroyed, so that none bills.',
    decide: destroyAll,
  },
  {
    name: 'confirm-gone',
    because: 'A successful reply to a destroy request does not prove that the machine is gone.',
    decide: confirmGone,
  },
  {
    name: 'confirm-stranger',
    because:
      'The recorded machine is left alone only if a read confirms that it belongs to another purchase.',
    decide: (facts) => (facts.machine.disowned ? confirmDisowned(facts, facts.machine.disowned) : undefined),
  },
  {
    name: 'confirm-candidates',
    because: 'A list showed a machine with the label of this object, and no read proves that it is gone.',
    decide: awaitCandidates,
  },
  { name: 'keep-machine', because: 'deletionPolicy keeps the machine.', decide: keep },
  { name: 'let-go', because: 'No machine of this object bills any more.', decide: letGo },
];

export function whileDeleting(facts: Facts): Step {
  return firstOf(RULES, facts, undefined) ?? decision({});
}

function neverRented(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'purchase' | 'memory'>,
): Step | undefined {
  const {
    object,
    purchase: { intent },
    memory,
    machine: { list },
  } = facts;
  const { instanceId, claim } = object.status ?? {};
  const isUnusable = storedForm(object.status)?.problem !== undefined;
  const onRecord = intent.type !== 'none' || instanceId !== undefined || claim !== undefined;
  const inMemory = memory.intent !== undefined || memory.rented !== undefined;
  if (onRecord || isUnusable || inMemory || (list && list.labelled.length > 0)) return undefined;
  return decideRelease(facts, noteGone('Nothing was rented.'));
}

function recordUnusable(facts: Pick<Facts, 'object' | 'machine' | 'account' | 'purchase'>): Step | undefined {
  const blocked = blockedByRecord(facts);
  if (blocked?.forbidsDeletion !== true) return undefined;
  return waiting(facts, { reason: blocked.reason, detail: blocked.detail });
}

/**
 * Returns the release of an object whose account was deleted, if nothing of it would have blocked the account's
 * deletion.
 */
function settledBefore(facts: Facts): Step | undefined {
  const {
    object,
    account,
    purchase: { intent },
    memory,
  } = facts;
  const { instanceId, claim } = object.status ?? {};
  const isUnusable = storedForm(object.status)?.problem !== undefined;
  const isDoubtful = isUnusable || (intent.type !== 'none' && intent.type !== 'intent');
  const mayBill = memory.rented !== undefined && !facts.machine.endedIds.has(memory.rented.instanceId);
  const isOpen = isDoubtful || facts.purchase.openIntent !== undefined || mayBill;
  if (account.state !== 'missing' || isOpen || instanceId !== undefined || claim !== undefined)
    return undefined;
  return decideRelease(facts, noteGone('No machine of it was left when its account went.'));
}

function settleFirst(facts: OwnershipFacts): Step | undefined {
  const at = unsettledUntil(facts);
  if (at === undefined || machinesToDestroy(facts).length > 0) return undefined;
  const open = facts.purchase.intentOutcome;
  return waiting(facts, {
    reason: 'RentalUncertain',
    detail:
      open.type === 'unknown' || open.type === 'late' || open.type === 'ambiguous'
        ? whatIsMissing(open)
        : 'A rental of this object is of unknown outcome; it settles by the lists.',
    requeue: {
      onList: true,
      afterMs: Math.max(1000, at - facts.clock.steadyNow + 1),
    },
  });
}

/** Reads machines that only a label assigns to this object. While lists and read disagree, the deletion waits. */
function confirmLabels(facts: OwnershipFacts): Step | undefined {
  const unproven = [...labelledToDestroy(facts), ...keptByLabel(facts)];
  const { ids, read } = confirmedByLabel(facts, unproven);
  if (read) return read;
  if (ids.length === unproven.length || machinesToDestroy(facts).length > 0) return undefined;
  return waiting(facts, {
    reason: 'RentalUncertain',
    detail: `Machine ${unproven.find(({ row }) => !ids.includes(row.id))?.row.id} carries a label of this object; it goes when lists and a read of the machine agree.`,
    requeue: { onList: true, afterMs: 30_000 },
  });
}

/** Stops the machine of a run that goes on, and waits for `completion.stopGrace` at most. */
function stopRun(facts: HeldFacts): Step | undefined {
  const { object, machine } = facts;
  const { owned, list } = machine;
  if (!owned || list?.recorded?.state !== 'running' || machine.recordProof !== 'confirmed') return undefined;
  if (!isRun(object) || object.spec.deletionPolicy !== 'Destroy' || outcomeOf(object) !== undefined)
    return undefined;
  if (facts.memory.destroys.length > 0 || !isGraceLeft(facts)) return undefined;
  const { actions, requeue } = askToStop(facts, owned.instanceId);
  return waiting(facts, {
    reason: 'Stopping',
    detail: `Machine ${owned.instanceId} is stopped, and destroyed after completion.stopGrace at the latest.`,
    actions,
    requeue: { ...requeue, onList: true, afterMs: Math.min(requeue.afterMs ?? 1_000, graceLeftMs(facts)) },
  });
}

function destroyAll(facts: Facts): Step | undefined {
  const ids = machinesToDestroy(facts);
  if (ids.length === 0) return undefined;
  const wait = facts.memory.destroyNotBefore - facts.clock.steadyNow;
  if (wait > 0) {
    if (facts.memory.destroyFailures < MIN_REPORTED_FAILURES) return decision({ requeue: { afterMs: wait } });
    return waiting(facts, {
      reason: 'DestroyFailing',
      detail: failingDetail(facts, ids[0] ?? ''),
      requeue: { afterMs: wait },
    });
  }
  const destroys = ids.map((instanceId): Action => ({ type: 'destroy', instanceId, reason: 'Deleting' }));
  return decision({
    record: { type: 'nothing', because: 'deleting' },
    actions: destroys,
    requeue: { onList: true, afterMs: destroyRetryMs(facts) },
  });
}

/** Requires the proof that every machine of this object, or destroyed for it by this process, is gone. */
function confirmGone(facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>): Step | undefined {
  for (const instanceId of machinesToProve(facts)) {
    const proof = goneProof(facts, instanceId);
    if (proof.type === 'needsRead') return { type: 'read', requests: [{ type: 'machine', instanceId }] };
    if (proof.type === 'needsLogin') return { type: 'read', requests: [{ type: 'loginProof' }] };
    if (proof.type !== 'gone') return decision({ requeue: untilProven(proof, facts) });
  }
  return undefined;
}

/** Time to wait for a list that another object requests, before this object requests one. */
const OTHERS_ASK_MS = 1_000;

/**
 * Returns the next reconcile. Earlier lists prove nothing, so it waits until one can; then a second for the list of
 * another object; then it requests one.
 */
function untilProven(proof: GoneProof, { clock: { steadyNow } }: Pick<Facts, 'clock'>): Requeue {
  const provableAt = proof.type === 'waiting' ? proof.provableAt : undefined;
  if (provableAt === undefined) return { onList: true, afterMs: 30_000 };
  const wait = provableAt - steadyNow;
  if (wait > 0) return { afterMs: wait };
  if (wait > -OTHERS_ASK_MS) return { onList: true, afterMs: wait + OTHERS_ASK_MS };
  return { onList: true, afterMs: 30_000, asksForList: 'soon' };
}

function letGo(facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>): Step {
  const unproven = facts.machine.list?.recorded;
  if (unproven && !facts.machine.owned) {
    const note = `Machine ${unproven.id}, which the status names, is not proven to belong to this object: it stays, and its renter pays for it.`;
    const warning = { type: 'Warning', reason: 'Released', action: 'Deleting', note } as const;
    return decideRelease(facts, warning, destroyedBefore(facts));
  }
  const cost = totalCost(facts.object.status?.cost, endOfBilling(facts));
  const note = `Nothing is left; all machines of this object cost $${formatDollars(cost)}.`;
  const ended = facts.object.spec.deletionPolicy === 'Destroy' ? facts.machine.owned : undefined;
  return decideRelease(facts, noteGone(note), [
    ...destroyedBefore(facts),
    ...(ended ? [ended.instanceId] : []),
  ]);
}

function decideRelease(facts: BillingFacts, note: EventNote, destroyed: readonly string[] = []): Decision {
  const endedAt = endOfBilling(facts);
  return decision({
    record: { type: 'nothing', because: 'deleting' },
    actions: [{ type: 'release', note, endedAt, destroyed: [...new Set(destroyed)] }],
  });
}

type BillingFacts = Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>;

/** Returns the end of billing of the recorded machine, which is gone, in service time. */
function endOfBilling(facts: BillingFacts): number {
  const { instanceId } = facts.object.status ?? {};
  const now = facts.clock.believedNow;
  const known = instanceId === undefined ? undefined : destroyAnsweredAt(facts, instanceId);
  const missing = instanceId === undefined ? now : missingBy(facts, instanceId, now);
  return known ?? goneAt(facts.object, missing);
}

/**
 * Returns the IDs of the object's machines that the operator destroyed, from its history and from this process's
 * memory.
 */
function destroyedBefore({
  object: { status = {} },
  memory,
}: Pick<Facts, 'object' | 'memory'>): readonly string[] {
  const ended = (status.history ?? []).filter(({ provenGoneAt }) => provenGoneAt === undefined);
  return [...ended, ...memory.destroys].map(({ instanceId }) => instanceId);
}

function noteGone(note: string): EventNote {
  return { type: 'Normal', reason: 'InstanceDestroyed', action: 'Deleting', note };
}

/** Time after which a machine is released without a key. A new process has not verified any key yet. */
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Releases the machine with policy Retain if no request can be sent: after a timeout it is kept as it is. Not if the
 * account is only out of this installation's scope: its own operator would sweep a machine that is not listed as kept
 * there.
 */
function giveUp(facts: Facts): Step | undefined {
  const { account } = facts;
  const isUsable = facts.account.facts !== undefined && facts.machine.list !== undefined;
  if (facts.object.spec.deletionPolicy !== 'Retain' || isUsable) return undefined;
  if (account.state === 'missing' && account.isUnwatched) return waitingForKey(facts);
  const left = facts.memory.firstSeenAt + GIVE_UP_AFTER_MS - facts.clock.steadyNow;
  return left > 0 ? waitingForKey(facts, { afterMs: left }) : letMachineGo(facts, 'Retain');
}

/** Keeps a machine by Stop or Retain, after everything else of the object is gone. */
export function keep(facts: Facts): Step | undefined {
  const { deletionPolicy } = facts.object.spec;
  const isNamed = facts.machine.list?.recorded !== undefined || machineToKeep(facts) !== undefined;
  if (deletionPolicy === 'Destroy' || !isNamed) return undefined;
  return awaitLateStart(facts) ?? letMachineGo(facts, deletionPolicy);
}

function letMachineGo(facts: Facts, policy: 'Stop' | 'Retain'): Decision {
  const kept = keptMachine(facts);
  const retain: readonly Action[] = kept ? [{ type: 'retain', policy, ...kept }] : [];
  const staying = new Set([kept?.instanceId, facts.object.status?.instanceId]);
  const destroyed = destroyedBefore(facts).filter((id) => !staying.has(id));
  return decision({
    record: { type: 'nothing', because: 'deleting' },
    actions: [
      ...retain,
      {
        type: 'release',
        note: noteRetained(facts, kept?.instanceId),
        endedAt: facts.clock.believedNow,
        destroyed,
        keepsChildren: true,
      },
    ],
  });
}

/**
 * Returns the machine to keep, with its new label. The label is undefined if no account is usable or no list
 * confirmed the present label: the machine is then only listed as kept.
 */
function keptMachine(
  facts: Pick<Facts, 'object' | 'machine' | 'account' | 'purchase'>,
): Pick<Extract<Action, { type: 'retain' }>, 'instanceId' | 'label'> | undefined {
  const { instanceId, rentedAt, cost, firstRentedAt } = facts.object.status ?? {};
  if (!facts.account.facts) return instanceId === undefined ? undefined : { instanceId, label: undefined };
  const machine = facts.machine.owned ?? machineToKeep(facts);
  if (!machine) return undefined;
  const {
    purchase: { uid, identity },
  } = facts;
  // Not the present time: a repeated decision would have another label, and the call would be cancelled.
  const issuedAt = parseTime(rentedAt ?? cost?.since ?? firstRentedAt) ?? 0;
  const label = { uid, attempt: machine.attempt, issuedAt };
  const isUnproven = facts.machine.recordProof !== 'confirmed' && machine === facts.machine.owned;
  // Without a list that confirms its label, the machine may be foreign: it is listed as kept, but not
  // relabelled.
  if (isUnproven || facts.account.facts.market.label.kept === 'never')
    return { instanceId: machine.instanceId, label: undefined };
  return { instanceId: machine.instanceId, label: makeRetainedLabel(identity, label) };
}

/** Requests the stop of a machine that is kept by Stop, until it has stopped or cannot. */
function stopFirst(
  facts: Pick<Facts, 'object' | 'machine' | 'account' | 'clock' | 'memory'>,
): Step | undefined {
  const machine = machineToKeep(facts);
  if (facts.object.spec.deletionPolicy !== 'Stop' || !machine || !isKeptProven(facts)) return undefined;
  const unstoppable = cannotStop(facts, 'deletionPolicy');
  if (unstoppable !== undefined) return waiting(facts, { reason: 'InvalidSpec', detail: unstoppable });
  const stopped = stopConfirmation(facts, machine);
  if (stopped === 'confirmed') return undefined;
  if (stopped !== 'unconfirmed') return stopped;
  const { actions, requeue } = askToStop(facts, machine.instanceId);
  const confirms = hasStopped(facts.memory, machine.row) ? ', which two lists and a read must confirm' : '';
  return waiting(facts, {
    reason: 'Stopping',
    detail: `Stopping machine ${machine.instanceId}, which deletionPolicy keeps. It shows ${shownStatus(machine.row)}${confirms}.`,
    actions,
    requeue: { onList: true, ...requeue },
  });
}

/**
 * Waits while a start that was sent before the deletion may still be carried out: nothing would stop the machine once its
 * object is gone. Undefined when a list was begun after that time.
 */
function awaitLateStart(facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>): Decision | undefined {
  const machine = machineToKeep(facts);
  if (facts.object.spec.deletionPolicy !== 'Stop' || !machine) return undefined;
  const { instanceId, row } = machine;
  const until = startedUntil(facts, instanceId);
  const { list } = facts.machine;
  if (list !== undefined && list.begunSteady > until) return undefined;
  const wait = until - facts.clock.steadyNow;
  return waiting(facts, {
    reason: 'Stopping',
    detail: `Machine ${instanceId}, which deletionPolicy keeps, shows ${shownStatus(row)}. The marketplace may still carry out an earlier start.`,
    requeue: wait > 0 ? { afterMs: wait + 1 } : { onList: true, afterMs: 30_000 },
  });
}

/**
 * Returns the time until which a start of the machine may be carried out, in steady time, requested by this process or
 * an earlier one.
 */
function startedUntil(facts: Pick<Facts, 'object' | 'clock' | 'memory'>, instanceId: string): number {
  const { constants } = facts.clock;
  const { startSentAt = Number.NEGATIVE_INFINITY, foundMachine } = facts.memory;
  const sentBefore = foundMachine === instanceId ? sentBeforeThisProcess(facts) : Number.NEGATIVE_INFINITY;
  return Math.max(startSentAt, sentBefore) + constants.rentCallMs + constants.lateCallMs;
}

/**
 * Returns the latest time at which an earlier process may have sent a start. Starts are only sent to stopped
 * machines, so a machine that is no longer stopped got its start before its status changed.
 */
function sentBeforeThisProcess({
  object: { status = {} },
  clock: { now, steadyNow },
  memory: { firstSeenAt },
}: Pick<Facts, 'object' | 'clock' | 'memory'>): number {
  const shownSince = parseTime(status.actualStatusSince);
  if (shownSince === undefined || isStopped(recordedState(status))) return firstSeenAt;
  return Math.min(firstSeenAt, steadyNow - (now - shownSince));
}

/**
 * Returns the confirmation that a kept machine has stopped: its object is released then, so two lists and a read must
 * agree.
 */
function stopConfirmation(
  facts: Pick<Facts, 'machine' | 'memory'>,
  { instanceId, row }: KeptMachine,
): Confirmation {
  const { memory } = facts;
  if (row.unsettled.has('state') || row.unsettled.has('intendedPower') || !hasStopped(memory, row))
    return 'unconfirmed';
  return readConfirmation(facts, instanceId, (read) => hasStopped(memory, read));
}

/**
 * Returns true if the machine has stopped as far as possible: a silent host cannot stop anything, and an ended
 * container does not run, so the service's record of the stop is enough. A service without an intended status has
 * recorded it when it answered the stop.
 */
function hasStopped(
  { stopAskedAt }: Facts['memory'],
  shown: Pick<Machine, 'state' | 'intendedPower'>,
): boolean {
  const { intendedPower } = shown;
  if (!isFailing(shown)) return isStopped(shown);
  return intendedPower === undefined ? stopAskedAt !== undefined : intendedPower === 'stopped';
}

function noteRetained(
  facts: Pick<Facts, 'object' | 'machine' | 'purchase' | 'memory'>,
  kept: string | undefined,
): EventNote {
  const { instanceId = kept } = facts.object.status ?? {};
  const { deletionPolicy } = facts.object.spec;
  const disk = deletionPolicy === 'Stop' ? keptPerHour(facts.object.status ?? {}, 'Stop') : undefined;
  const price = disk ?? billedNow(facts);
  const bills = price === undefined ? '' : ` and bills $${price}/h`;
  // Such a machine would have no object; only the marketplace would show it.
  const open = facts.purchase.openIntent;
  const leftOpen = open
    ? ` Purchase ${open.attempt} of offer ${open.offer} may have made one all the same: look for it in the marketplace's console.`
    : '';
  return {
    type: 'Warning',
    reason: 'Released',
    action: 'Deleting',
    note:
      instanceId === undefined
        ? `No machine was on record.${leftOpen}`
        : `Machine ${instanceId} was given up${bills}.`,
  };
}

/** Listed machine that outlives its object. */
interface KeptMachine extends OwnedMachine {
  readonly row: Machine;
}

/** Returns the time until which a machine of this object may still appear; undefined if none can. */
export function unsettledUntil(
  facts: Pick<Facts, 'object' | 'machine' | 'purchase' | 'clock'>,
): number | undefined {
  if (facts.purchase.intent.type === 'tampered') return untrustedUntil(facts);
  const outcome = facts.purchase.intentOutcome;
  if (outcome.type === 'unknown') return outcome.settlesAt;
  return outcome.type === 'ambiguous' || outcome.type === 'late' ? facts.clock.steadyNow + 60_000 : undefined;
}

/**
 * Returns the time until which an unreadable intent may still create a machine, because it may have been written just
 * before the deletion. Uses the service's clock: the operator's own would end this time too early if it is ahead.
 */
function untrustedUntil(facts: Pick<Facts, 'object' | 'machine' | 'clock'>): number | undefined {
  const {
    object,
    clock: { constants, steadyNow },
  } = facts;
  const now = facts.clock.serviceNow;
  const deletedAt = parseTime(object.metadata.deletionTimestamp) ?? 0;
  const agoMs = now === undefined ? 0 : Math.max(0, now - deletedAt);
  const at = steadyNow - agoMs + constants.rentCallMs + constants.lateCallMs + constants.listLagMs;
  return listsAgreeAfter(facts, at) ? undefined : at;
}

/**
 * Returns the machines of this object that are listed, or rented and not destroyed: the recorded one, and every one
 * with its label. Excludes the machine that the deletion policy keeps, and machines whose destroy was answered so
 * recently that a list may be outdated.
 */
function machinesToDestroy(facts: OwnershipFacts): readonly string[] {
  const {
    machine: { list, owned, provisional },
    memory,
  } = facts;
  if (!list) return [];
  const { rented } = memory;
  const isAnswered = rented !== undefined && !isOver(rented.instanceId, memory, list);
  const own = new Set([
    ...(owned && list.recorded && !provisional ? [owned.instanceId] : []),
    ...confirmedByLabel(facts, labelledToDestroy(facts)).ids,
    ...(isAnswered && rented.attempt > facts.purchase.settledAttempt ? [rented.instanceId] : []),
  ]);
  return [...own].filter((id) => isToDestroy(facts, id));
}

/** Returns the listed machines with a label of this object that no record of it names, except a provisional one. */
function labelledToDestroy(facts: OwnershipFacts): readonly ListedMachine[] {
  const { owned, provisional, recordProof, list } = facts.machine;
  const recorded = provisional ? undefined : owned?.instanceId;
  const { labelled = [], unowned = [] } = list ?? {};
  const found = facts.purchase.intentOutcome;
  const bought = found.type === 'found' ? found.instanceId : undefined;
  const unlabelled = unowned.map((row) => ({ row, ownership: { type: 'unlabelled' } as const }));
  return [...labelled, ...unlabelled].filter((machine) => {
    const { row, ownership } = machine;
    const isRecorded = row.id === owned?.instanceId && recordProof === 'confirmed';
    const isOwn =
      attemptOf(ownership) !== undefined || isTakenBack(facts, machine) || row.id === bought || isRecorded;
    return (
      isOwn && row.id !== recorded && row.id !== facts.memory.rented?.instanceId && isToDestroy(facts, row.id)
    );
  });
}

function isToDestroy(facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>, id: string): boolean {
  return id !== machineToKeep(facts)?.instanceId && !isDestroyPending(facts, id);
}

/**
 * Returns true for a machine that is marked as kept but belongs to the purchase without a recorded outcome, so that
 * it is destroyed with its object. The start time must match the intent, because a mark can be copied.
 */
function isTakenBack(
  facts: Pick<Facts, 'object' | 'purchase' | 'clock'>,
  { row, ownership }: ListedMachine,
): boolean {
  const {
    object,
    clock: { constants },
  } = facts;
  const intent = facts.purchase.openIntent;
  if (object.spec.deletionPolicy !== 'Destroy' || ownership.type !== 'retained' || !intent) return false;
  const isOfPurchase = ownership.facts.attempt === intent.attempt && row.startedAt !== undefined;
  return isOfPurchase && startsInWindow(row.startedAt, intent.issuedAt, constants);
}

/**
 * Returns true if this process destroyed the machine and the list does not show it. A machine that it rented stays in
 * its memory after the destroy, so a list must show the absence.
 */
function isOver(id: string, { destroys }: Facts['memory'], { ids }: ListView): boolean {
  return destroys.some(({ instanceId }) => instanceId === id) && !ids.includes(id);
}

/**
 * Returns the machines that must be proven gone: the recorded one, and all that this process destroyed. Excludes a
 * listed machine that the deletion policy keeps, even if its destroy was answered before the policy changed.
 */
function machinesToProve(facts: Pick<Facts, 'object' | 'machine' | 'memory'>): ReadonlySet<string> {
  const { owned } = facts.machine;
  const ending = [...(owned ? [owned] : []), ...facts.memory.destroys];
  const kept = machineToKeep(facts)?.instanceId;
  return new Set(ending.map(({ instanceId }) => instanceId).filter((id) => id !== kept));
}

/**
 * Returns the listed machine that the deletion policy keeps: the recorded one, or without a trusted record the one of
 * the newest purchase.
 */
function machineToKeep(facts: Pick<Facts, 'object' | 'machine'>): KeptMachine | undefined {
  const {
    object,
    machine: { list, owned },
  } = facts;
  if (object.spec.deletionPolicy === 'Destroy' || !list) return undefined;
  if (owned) return list.recorded && { ...owned, row: list.recorded };
  const newest = newestLabelled(facts, 0);
  const row = list.labelled.find(({ row: { id } }) => id === newest?.instanceId)?.row;
  return newest && row && { instanceId: newest.instanceId, attempt: newest.attempt, row };
}

/** Returns the machine that the deletion policy keeps, if only its label assigns it to this object. */
function keptByLabel(facts: Pick<Facts, 'object' | 'machine'>): readonly ListedMachine[] {
  const kept = facts.machine.owned ? undefined : machineToKeep(facts);
  return (facts.machine.list?.labelled ?? []).filter(({ row }) => row.id === kept?.instanceId);
}

/** Returns true if the kept machine is on record, or two lists and a read agree on its label. */
function isKeptProven(facts: Pick<Facts, 'object' | 'machine' | 'memory'>): boolean {
  const byLabel = keptByLabel(facts);
  return confirmedByLabel(facts, byLabel).ids.length === byLabel.length;
}

interface Waiting {
  readonly reason:
    | 'AccountMissing'
    | 'CopiedObject'
    | 'InvalidSpec'
    | 'AccountNotReady'
    | 'RentalUncertain'
    | 'Stopping'
    | 'DestroyFailing'
    | 'RecordUnreadable'
    | 'LoginChanged'
    | 'NotAllowedByAccount';
  readonly detail: string;
  readonly actions?: readonly Action[];
  readonly requeue?: Decision['requeue'];
}

/** Returns a deletion in progress, with the condition that it waits for. */
export function waiting(
  facts: Pick<Facts, 'object'>,
  { reason, detail, actions = [], requeue = {} }: Waiting,
): Decision {
  const hasMachine = facts.object.status?.instanceId !== undefined;
  return decision({
    fields: carriedFields(facts),
    finding: {
      phase: 'Deleting',
      reason,
      detail,
      machine: hasMachine ? { type: 'silent', origin: 'Rented', reason: 'Deleting' } : { type: 'none' },
    },
    actions,
    requeue,
  });
}

const OUTSIDE = {
  reason: 'NotAllowedByAccount',
  detail: `${reasons.NotAllowedByAccount.sentence} Nothing can be done about its machine.`,
} as const;

/** Returns the wait for a verified key of the account: no request can be sent before. */
function waitingForKey(
  facts: Pick<Facts, 'object' | 'account'>,
  requeue: Decision['requeue'] = {},
): Decision {
  const ref = accountRefOf(facts.object);
  const { account } = facts;
  if (account.outsider !== undefined) return waiting(facts, { ...OUTSIDE, requeue });
  const isUnwatched = account.state === 'missing' && account.isUnwatched === true;
  return waiting(facts, {
    reason: account.state === 'missing' ? 'AccountMissing' : 'AccountNotReady',
    detail: `MarketplaceAccount ${accountKey(ref)} ${isUnwatched ? notWatched(ref.namespace) : 'cannot be used'}, so nothing can be done about its machine.${account.state === 'notReady' ? ` ${account.message}` : ''}`,
    requeue,
  });
}

/** Returns the reason why this installation does not watch an account. */
export const notWatched = (namespace: string): string =>
  `is in namespace ${namespace}, which this operator does not watch (--watch-namespace)`;
