import { MACHINE_FINALIZER } from '../../../api/v1alpha1/names.ts';
import { reasons } from '../../../api/v1alpha1/reasons.ts';
import { accountKey, accountRefOf } from '../../../instance/account-ref.ts';
import { totalCost } from '../../../instance/cost.ts';
import { isFailing, isStopped } from '../../../instance/status-class.ts';
import { formatDollars, parseDollars } from '../../../lib/money.ts';
import { parseTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import { makeRetainedLabel } from '../../../ownership/label.ts';
import { startsInWindow } from '../../../ownership/ownership.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import { attemptOf, type Facts, type OwnedMachine } from '../facts.ts';
import { type GoneProof, goneProof, isDestroyPending } from '../gone.ts';
import { withdraw } from '../publication.ts';
import { blockedByRecord, newestLabelled } from '../stage.ts';
import { actualStatusOf, carriedFields } from '../status.ts';
import type { Action, Decision, ListedMachine, ListView, Requeue, Step } from '../types.ts';
import { askToStop, destroyRetryMs, failingDetail, MIN_REPORTED_FAILURES } from './ending.ts';
import { whatIsMissing } from './pending.ts';

/**
 * Teardown: what this object may still bill for goes first, then the guard. It never gives up; only a person
 * lets go of a machine, by `deletionPolicy: Retain`.
 */
const RULES: readonly Rule<undefined>[] = [
  {
    name: 'not-guarded',
    because: 'Without our finalizer there is nothing left to do.',
    decide: ({ object }) =>
      object.metadata.finalizers?.includes(MACHINE_FINALIZER) ? undefined : decision({}),
  },
  {
    name: 'observed-only',
    because: 'A machine that was only watched is not ours to end.',
    decide: ({ object }) =>
      object.spec.adopt?.policy === 'Observe'
        ? release(noteGone('The machine was only watched and stays as it is.'))
        : undefined,
  },
  { name: 'never-rented', because: 'No intent and no claim: no money was spent.', decide: neverRented },
  {
    name: 'leave-service',
    because: 'Nobody is led to a machine that goes.',
    decide: withdraw,
  },
  {
    name: 'give-up-machine',
    because: 'The documented way out: a person keeps the machine, and there is nothing to ask anything with.',
    decide: giveUp,
  },
  {
    name: 'record-unusable',
    because: 'A newer version wrote the record; only it knows what stands behind it.',
    decide: recordUnusable,
  },
  {
    name: 'settled-before',
    because: 'Its account has gone, which nothing of this object kept: no machine and no purchase is open.',
    decide: settledBefore,
  },
  {
    name: 'wait-for-account',
    because: 'Only a proven key can destroy.',
    decide: (facts) => (facts.accountFacts ? undefined : waitingForKey(facts)),
  },
  {
    name: 'wait-for-list',
    because: 'Only a complete list names all machines of this object.',
    decide: ({ list }) => (list ? undefined : decision({ requeue: { onList: true, afterMs: 5_000 } })),
  },
  {
    name: 'settle-first',
    because: 'A rental of unknown outcome may still make a machine.',
    decide: settleFirst,
  },
  { name: 'stop-machine', because: 'deletionPolicy is Stop: the disk stays.', decide: stopFirst },
  { name: 'destroy-machines', because: 'Nothing may bill that nobody asked for.', decide: destroyAll },
  { name: 'confirm-gone', because: 'The answer to a destroy is no proof.', decide: confirmGone },
  { name: 'keep-machine', because: 'deletionPolicy says that the machine stays.', decide: keep },
  { name: 'let-go', because: 'Nothing of this object bills any more.', decide: letGo },
];

export function whileDeleting(facts: Facts): Step {
  return firstOf(RULES, facts, undefined) ?? decision({});
}

function neverRented(facts: Facts): Step | undefined {
  const { object, intent, memory, list } = facts;
  const { instanceId, claim } = object.status ?? {};
  const onRecord = intent.type !== 'none' || instanceId !== undefined || claim !== undefined;
  const inMemory = memory.intent !== undefined || memory.rented !== undefined;
  if (onRecord || inMemory || (list && list.labelled.length > 0)) return undefined;
  return release(noteGone('Nothing was rented.'));
}

function recordUnusable(facts: Facts): Step | undefined {
  const blocked = blockedByRecord(facts);
  if (blocked?.reason !== 'IntentUnknown' && blocked?.reason !== 'LoginChanged') return undefined;
  return waiting(facts, { reason: blocked.reason, detail: blocked.detail });
}

/** What would have kept the account from going is what would still need it. */
function settledBefore(facts: Facts): Step | undefined {
  const { object, account, intent, memory } = facts;
  const { instanceId, claim } = object.status ?? {};
  const isDoubtful = intent.type !== 'none' && intent.type !== 'intent';
  const mayBill = memory.rented !== undefined && !facts.endedIds.has(memory.rented.instanceId);
  const isOpen = isDoubtful || facts.openIntent !== undefined || mayBill;
  if (account.state !== 'missing' || isOpen || instanceId !== undefined || claim !== undefined)
    return undefined;
  return release(noteGone('No machine of it was left when its account went.'));
}

function settleFirst(facts: Facts): Step | undefined {
  const at = unsettledUntil(facts);
  if (at === undefined || machinesToDestroy(facts).length > 0) return undefined;
  const open = facts.intentOutcome;
  return waiting(facts, {
    reason: 'RentalUncertain',
    detail:
      open.type === 'unknown' || open.type === 'late' || open.type === 'ambiguous'
        ? whatIsMissing(open)
        : 'A rental of this object is of unknown outcome; it settles by the lists.',
    requeue: {
      onList: true,
      afterMs: Math.max(1000, at - facts.steadyNow + 1),
    },
  });
}

function destroyAll(facts: Facts): Step | undefined {
  const ids = machinesToDestroy(facts);
  if (ids.length === 0) return undefined;
  const wait = facts.memory.destroyNotBefore - facts.steadyNow;
  if (wait > 0) {
    if (facts.memory.destroyFailures < MIN_REPORTED_FAILURES) return decision({ requeue: { afterMs: wait } });
    return waiting(facts, {
      reason: 'DestroyFailing',
      detail: failingDetail(facts, ids[0] ?? ''),
      requeue: { afterMs: wait },
    });
  }
  const destroys = ids.map((instanceId): Action => ({ type: 'destroy', instanceId, reason: 'Destroying' }));
  return decision({
    record: { type: 'nothing', because: 'deleting' },
    actions: destroys,
    requeue: { onList: true, afterMs: destroyRetryMs(facts) },
  });
}

/** Every machine that this object held or that this process destroyed for it must be proven gone. */
function confirmGone(facts: Facts): Step | undefined {
  for (const instanceId of machinesToProve(facts)) {
    const proof = goneProof(facts, instanceId);
    if (proof.type === 'needsRead') return { type: 'read', requests: [{ type: 'machine', instanceId }] };
    if (proof.type === 'needsLogin') return { type: 'read', requests: [{ type: 'loginProof' }] };
    if (proof.type !== 'gone') return decision({ requeue: untilProven(proof, facts) });
  }
  return undefined;
}

/** A list that others ask for is waited for so long, before this object asks for one. */
const OTHERS_ASK_MS = 1_000;

/** No list before the one that proves it is worth a look; that one may be due much later than it could be had. */
function untilProven(proof: GoneProof, { steadyNow }: Facts): Requeue {
  const provableAt = proof.type === 'waiting' ? proof.provableAt : undefined;
  if (provableAt === undefined) return { onList: true, afterMs: 30_000 };
  const wait = provableAt - steadyNow;
  if (wait > 0) return { afterMs: wait };
  if (wait > -OTHERS_ASK_MS) return { onList: true, afterMs: wait + OTHERS_ASK_MS };
  return { onList: true, afterMs: 30_000, asksForList: true };
}

function letGo(facts: Facts): Step {
  const unproven = facts.list?.recorded;
  if (unproven && !facts.ownedMachine) {
    const note = `Machine ${unproven.id}, which the status names, is not proven to be this object's: it stays, and bills whoever rented it.`;
    return release({ type: 'Warning', reason: 'Released', action: 'Deleting', note });
  }
  const mark = facts.memory.destroys.at(-1);
  const cost = totalCost(facts.object.status?.cost, mark?.endedAt ?? facts.now);
  return release(noteGone(`Nothing is left; all machines of this object cost $${formatDollars(cost)}.`));
}

function release(note: EventNote): Decision {
  return decision({ record: { type: 'nothing', because: 'deleting' }, actions: [{ type: 'release', note }] });
}

function noteGone(note: string): EventNote {
  return { type: 'Normal', reason: 'InstanceDestroyed', action: 'Deleting', note };
}

/** A process that has just started has not proved any key yet: that is no reason to give a machine up. */
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Retain, and nothing to ask anything with: after some patience a person keeps the machine as it is. Not where the account
 * is only out of sight: one that looks at it again would sweep a machine of which nobody said there that it is kept.
 */
function giveUp(facts: Facts): Step | undefined {
  const { account } = facts;
  const isUsable = facts.accountFacts !== undefined && facts.list !== undefined;
  if (facts.object.spec.deletionPolicy !== 'Retain' || isUsable) return undefined;
  if (account.state === 'missing' && account.isUnwatched) return waitingForKey(facts);
  const left = facts.memory.firstSeenAt + GIVE_UP_AFTER_MS - facts.steadyNow;
  return left > 0 ? waitingForKey(facts, { afterMs: left }) : letMachineGo(facts, 'Retain');
}

/** Stop and Retain keep a machine, once everything else of the object is gone. */
export function keep(facts: Facts): Step | undefined {
  const { deletionPolicy } = facts.object.spec;
  const isNamed = facts.list?.recorded !== undefined || machineToKeep(facts) !== undefined;
  return deletionPolicy === 'Destroy' || !isNamed ? undefined : letMachineGo(facts, deletionPolicy);
}

function letMachineGo(facts: Facts, policy: 'Stop' | 'Retain'): Decision {
  const kept = keptMachine(facts);
  const retain: readonly Action[] = kept ? [{ type: 'retain', policy, ...kept }] : [];
  return decision({
    record: { type: 'nothing', because: 'deleting' },
    actions: [
      ...retain,
      { type: 'release', note: noteRetained(facts, kept?.instanceId), keepsChildren: true },
    ],
  });
}

/** With the label that says so. Where no login is known, its claim cannot be checked: then it is only listed as kept. */
function keptMachine(
  facts: Facts,
): Pick<Extract<Action, { type: 'retain' }>, 'instanceId' | 'label'> | undefined {
  const { instanceId, rentedAt, cost, firstRentedAt } = facts.object.status ?? {};
  if (!facts.accountFacts) return instanceId === undefined ? undefined : { instanceId, label: undefined };
  const machine = facts.ownedMachine ?? machineToKeep(facts);
  if (!machine) return undefined;
  const { uid, identity } = facts;
  // Not the present time: decided again a moment later, it would be another label, and the call would be taken back.
  const issuedAt = parseTime(rentedAt ?? cost?.since ?? firstRentedAt) ?? 0;
  const label = { uid, attempt: machine.attempt, issuedAt };
  return { instanceId: machine.instanceId, label: makeRetainedLabel(identity, label) };
}

/** Stop: the machine that is kept is asked to stop until it has, or cannot. */
function stopFirst(facts: Facts): Step | undefined {
  const machine = machineToKeep(facts);
  if (facts.object.spec.deletionPolicy !== 'Stop' || !machine || hasStopped(facts, machine.row))
    return undefined;
  const { actions, requeue } = askToStop(facts, machine.instanceId);
  return waiting(facts, {
    reason: 'Stopping',
    detail: `Machine ${machine.instanceId} is to be kept, and was asked to stop; it says ${actualStatusOf(machine.row)}.`,
    actions,
    requeue: { onList: true, ...requeue },
  });
}

/**
 * A silent host cannot stop anything, and a container that ended does not run: once the service has noted the stop
 * there is no more to ask for. A service that shows no intended status has noted it when it answered the stop.
 */
function hasStopped({ memory }: Facts, { actualStatus, intendedStatus }: Instance): boolean {
  if (isFailing(actualStatus)) {
    return intendedStatus === undefined ? memory.stopAskedAt !== undefined : intendedStatus === 'stopped';
  }
  return isStopped(actualStatus);
}

function noteRetained(facts: Facts, kept: string | undefined): EventNote {
  const { instanceId = kept, cost } = facts.object.status ?? {};
  const price = parseDollars(cost?.pricePerHour);
  const bills = price === undefined ? '' : ` and bills $${formatDollars(price)}/h`;
  // A machine that nobody knows of yet belongs to no object then: only the marketplace can tell of it.
  const open = facts.openIntent;
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

/** A machine that outlives its object, as it is listed. */
interface KeptMachine extends OwnedMachine {
  readonly row: Instance;
}

/** Until when a machine of this object may still appear; undefined when none can. */
export function unsettledUntil(facts: Facts): number | undefined {
  if (facts.intent.type === 'tampered') return untrustedUntil(facts);
  const outcome = facts.intentOutcome;
  if (outcome.type === 'unknown') return outcome.settlesAt;
  return outcome.type === 'ambiguous' || outcome.type === 'late' ? facts.steadyNow + 60_000 : undefined;
}

/**
 * An intent that cannot be read may have been written a moment before the deletion. How long ago that was, the clock of
 * the service tells: by our own, if it is ahead, no rent call could still be carried out.
 */
function untrustedUntil(facts: Facts): number | undefined {
  const { object, constants, listsBegun, steadyNow } = facts;
  const now = facts.serviceNow;
  const deletedAt = parseTime(object.metadata.deletionTimestamp) ?? 0;
  const agoMs = now === undefined ? 0 : Math.max(0, now - deletedAt);
  const at = steadyNow - agoMs + constants.rentCallMs + constants.lateCallMs + constants.listLagMs;
  return listsBegun.some((begun) => begun > at) ? undefined : at;
}

/**
 * Machines of this object that a list still shows, or that a rental has made and nobody has destroyed: the recorded one,
 * and every one that carries its label. Not the one that the deletion policy keeps, and none whose destroy was answered
 * so lately that a list may lag behind it.
 */
function machinesToDestroy(facts: Facts): readonly string[] {
  const { list } = facts;
  if (!list) return [];
  const kept = machineToKeep(facts)?.instanceId;
  const recorded = facts.ownedMachine;
  const labelled = list.labelled.filter(({ ownership }) => attemptOf(ownership) !== undefined);
  const found = facts.intentOutcome;
  const isBought = found.type === 'found' && !isOver(found.instanceId, facts.memory, list);
  const own = new Set([
    ...(recorded && list.recorded ? [recorded.instanceId] : []),
    ...labelled.map(({ row }) => row.id),
    ...list.labelled.filter((machine) => isTakenBack(facts, machine)).map(({ row }) => row.id),
    ...(isBought ? [found.instanceId] : []),
  ]);
  return [...own].filter((id) => id !== kept && !isDestroyPending(facts, id));
}

/**
 * A machine that was marked as kept, of the purchase whose outcome nobody has recorded, while a person wanted it kept: now
 * it is to go with its object. The intent says when that purchase was made; a mark can be copied.
 */
function isTakenBack(facts: Facts, { row, ownership }: ListedMachine): boolean {
  const { object, constants } = facts;
  const intent = facts.openIntent;
  if (object.spec.deletionPolicy !== 'Destroy' || ownership.type !== 'retained' || !intent) return false;
  const isOfPurchase = ownership.facts.attempt === intent.attempt && row.startedAt !== undefined;
  return isOfPurchase && startsInWindow(row.startedAt, intent.issuedAt, constants);
}

/** What this process has rented it remembers also when it has destroyed that again: then a list has to show it. */
function isOver(id: string, { destroys }: Facts['memory'], { ids }: ListView): boolean {
  return destroys.some(({ instanceId }) => instanceId === id) && !ids.includes(id);
}

/**
 * Machines that must be proven gone: the recorded one, and all that this process destroyed. Not one that is to be kept
 * and is still listed, though its destroy was answered before a person said so.
 */
function machinesToProve(facts: Facts): ReadonlySet<string> {
  const recorded = facts.ownedMachine;
  const owned = [...(recorded ? [recorded] : []), ...facts.memory.destroys];
  const kept = machineToKeep(facts)?.instanceId;
  return new Set(owned.map(({ instanceId }) => instanceId).filter((id) => id !== kept));
}

/**
 * The listed machine that the deletion policy keeps: the recorded one, and where no record is to be trusted, the one of
 * the newest purchase.
 */
function machineToKeep(facts: Facts): KeptMachine | undefined {
  const { object, list } = facts;
  if (object.spec.deletionPolicy === 'Destroy' || !list) return undefined;
  const recorded = facts.ownedMachine;
  if (recorded) return list.recorded && { ...recorded, row: list.recorded };
  const newest = newestLabelled(facts, 0);
  const row = list.labelled.find(({ row: { id } }) => id === newest?.instanceId)?.row;
  return newest && row && { instanceId: newest.instanceId, attempt: newest.attempt, row };
}

interface Waiting {
  readonly reason:
    | 'AccountMissing'
    | 'AccountNotReady'
    | 'RentalUncertain'
    | 'Stopping'
    | 'DestroyFailing'
    | 'IntentUnknown'
    | 'LoginChanged'
    | 'NamespaceNotAllowed';
  readonly detail: string;
  readonly actions?: readonly Action[];
  readonly requeue?: Decision['requeue'];
}

/** A deletion that is not over, with what it waits for. */
export function waiting(facts: Facts, { reason, detail, actions = [], requeue = {} }: Waiting): Decision {
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
  reason: 'NamespaceNotAllowed',
  detail: `${reasons.NamespaceNotAllowed.sentence} Nothing can be done about its machine.`,
} as const;

/** Nothing can be asked while the account has no proven key. */
function waitingForKey(facts: Facts, requeue: Decision['requeue'] = {}): Decision {
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

/** Of an account: why this installation does not see it. */
export const notWatched = (namespace: string): string =>
  `is in namespace ${namespace}, which this operator does not watch (--watch-namespace)`;
