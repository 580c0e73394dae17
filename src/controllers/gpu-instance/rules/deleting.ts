import { MACHINE_FINALIZER } from '../../../api/v1alpha1/names.ts';
import { totalCost } from '../../../instance/cost.ts';
import { formatDollars } from '../../../lib/money.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { goneProof } from '../gone.ts';
import { withdraw } from '../publish/publication.ts';
import { heldByRecord } from '../stage.ts';
import type { Action, Decision, EventNote, Step } from '../types.ts';
import { giveUp, keep, stopFirst } from './deleting-kept.ts';
import { waiting, waitingForKey } from './deleting-waits.ts';
import { destroyRetryMs, FAILURES_WORTH_SAYING, failingDetail } from './ending.ts';
import { whatIsMissing } from './pending.ts';
import { machinesToDestroy, machinesToProve, unsettledUntil } from './teardown-machines.ts';

/**
 * Teardown: what this object may still bill for goes first, then the guard. It never gives up; only a person
 * lets go of a machine, by `deletionPolicy: Retain`.
 */
const RULES: readonly Rule<undefined>[] = [
  { name: 'not-guarded', because: 'Without our finalizer there is nothing left to do.', decide: notGuarded },
  {
    name: 'observed-only',
    because: 'A machine that was only watched is not ours to end.',
    decide: observedOnly,
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
    name: 'hands-off',
    because: 'A newer version wrote the record; only it knows what stands behind it.',
    decide: handsOff,
  },
  {
    name: 'settled-before',
    because: 'Its account has gone, which nothing of this object kept: no machine and no purchase is open.',
    decide: settledBefore,
  },
  { name: 'wait-for-account', because: 'Only a proven key can destroy.', decide: waitForKey },
  {
    name: 'wait-for-list',
    because: 'Only a complete list names all machines of this object.',
    decide: waitForList,
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

function notGuarded({ object }: Facts): Step | undefined {
  return object.metadata.finalizers?.includes(MACHINE_FINALIZER) ? undefined : decision({});
}

function observedOnly(facts: Facts): Step | undefined {
  return facts.object.spec.adopt?.policy === 'Observe'
    ? release(noteGone('The machine was only watched and stays as it is.'))
    : undefined;
}

function neverRented(facts: Facts): Step | undefined {
  const { object, intent, memory, list } = facts;
  const { instanceId, claim } = object.status ?? {};
  const onRecord = intent.type !== 'none' || instanceId !== undefined || claim !== undefined;
  const inMemory = memory.intent !== undefined || memory.rented !== undefined;
  if (onRecord || inMemory || (list && list.labelled.length > 0)) return undefined;
  return release(noteGone('Nothing was rented.'));
}

function handsOff(facts: Facts): Step | undefined {
  const held = heldByRecord(facts);
  if (held?.reason !== 'IntentUnknown' && held?.reason !== 'LoginChanged') return undefined;
  return waiting(facts, { reason: held.reason, detail: held.detail });
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

function waitForKey(facts: Facts): Step | undefined {
  return facts.accountFacts ? undefined : waitingForKey(facts);
}

function waitForList(facts: Facts): Step | undefined {
  return facts.list ? undefined : decision({ look: { onList: true, afterMs: 5_000 } });
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
    look: {
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
    if (facts.memory.destroyFailures < FAILURES_WORTH_SAYING) return decision({ look: { afterMs: wait } });
    return waiting(facts, {
      reason: 'DestroyFailing',
      detail: failingDetail(facts, ids[0] ?? 0),
      look: { afterMs: wait },
    });
  }
  const destroys = ids.map((instanceId): Action => ({ type: 'destroy', instanceId, reason: 'Destroying' }));
  return decision({
    record: { type: 'nothing', because: 'deleting' },
    actions: destroys,
    look: { onList: true, afterMs: destroyRetryMs(facts) },
  });
}

/** Every machine that this object held or that this process destroyed for it must be proven gone. */
function confirmGone(facts: Facts): Step | undefined {
  for (const instanceId of machinesToProve(facts)) {
    const proof = goneProof(facts, instanceId);
    if (proof.type === 'needsRead') return { type: 'read', requests: [{ type: 'machine', instanceId }] };
    if (proof.type === 'needsLogin') return { type: 'read', requests: [{ type: 'loginProof' }] };
    if (proof.type !== 'gone') return decision({ look: { onList: true, afterMs: 30_000 } });
  }
  return undefined;
}

function letGo(facts: Facts): Step {
  const stranger = facts.list?.recorded;
  if (stranger && !facts.ownedMachine) return release(noteUnproven(stranger.id));
  const mark = facts.memory.destroys.at(-1);
  const cost = totalCost(facts.object.status?.cost, mark?.endedAt ?? facts.now);
  return release(noteGone(`Nothing is left; all machines of this object cost $${formatDollars(cost)}.`));
}

/** The status names a listed machine, and nothing proves that it is this object's. */
function noteUnproven(id: number): EventNote {
  return {
    type: 'Warning',
    reason: 'Released',
    action: 'Deleting',
    note: `Machine ${id}, which the status names, is not proven to be this object's: it stays, and bills whoever rented it.`,
  };
}

function release(note: EventNote): Decision {
  return decision({ record: { type: 'nothing', because: 'deleting' }, actions: [{ type: 'release', note }] });
}

function noteGone(note: string): EventNote {
  return { type: 'Normal', reason: 'InstanceDestroyed', action: 'Deleting', note };
}
