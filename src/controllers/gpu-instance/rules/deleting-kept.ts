import { isFailing, isStopped } from '../../../instance/status-class.ts';
import { formatDollars, parseDollars } from '../../../lib/money.ts';
import { parseTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import { makeRetainedLabel } from '../../../ownership/label.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { wordOf } from '../machine-fields.ts';
import type { Action, Decision, EventNote, Step } from '../types.ts';
import { waiting, waitingForKey } from './deleting-waits.ts';
import { askToStop } from './stopping.ts';
import { machineToKeep } from './teardown-machines.ts';

/** A process that has just started has not proved any key yet: that is no reason to give a machine up. */
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Retain, and nothing to ask anything with: after some patience a person keeps the machine as it is. Not where the account
 * is only out of sight: one that looks at it again would sweep a machine of which nobody said there that it is kept.
 */
export function giveUp(facts: Facts): Step | undefined {
  const { account } = facts;
  const isUsable = facts.accountFacts !== undefined && facts.list !== undefined;
  if (facts.object.spec.deletionPolicy !== 'Retain' || isUsable) return undefined;
  if (account.state === 'missing' && account.isUnwatched) return waitingForKey(facts);
  const left = facts.memory.firstLookAt + GIVE_UP_AFTER_MS - facts.steadyNow;
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
export function stopFirst(facts: Facts): Step | undefined {
  const machine = machineToKeep(facts);
  if (facts.object.spec.deletionPolicy !== 'Stop' || !machine || hasStopped(facts, machine.row))
    return undefined;
  const { actions, look } = askToStop(facts, machine.instanceId);
  return waiting(facts, {
    reason: 'Stopping',
    detail: `Machine ${machine.instanceId} is to be kept, and was asked to stop; it says ${wordOf(machine.row)}.`,
    actions,
    look: { onList: true, ...look },
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

function noteRetained(facts: Facts, kept: number | undefined): EventNote {
  const { instanceId = kept, cost } = facts.object.status ?? {};
  const price = parseDollars(cost?.pricePerHour);
  const bills = price === undefined ? '' : ` and bills $${formatDollars(price)}/h`;
  return {
    type: 'Warning',
    reason: 'Released',
    action: 'Deleting',
    note:
      instanceId === undefined
        ? `No machine was on record.${purchaseLeftOpen(facts)}`
        : `Machine ${instanceId} was given up${bills}.`,
  };
}

/** A machine that nobody knows of yet belongs to no object then: only the marketplace can tell of it. */
function purchaseLeftOpen(facts: Facts): string {
  const open = facts.openIntent;
  if (!open) return '';
  return ` Purchase ${open.attempt} of offer ${open.offer} may have made one all the same: look for it in the marketplace's console.`;
}
