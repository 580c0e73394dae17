import type { Reason } from '../../api/v1alpha1/reasons.ts';
import { isStopped, recordedState } from '../../instance/machine-state.ts';
import { isRun } from '../../instance/run.ts';
import type { EventNote } from '../../runtime/events.ts';
import { billedNow } from './billing.ts';
import type { Added, StatusDecision } from './decision.ts';
import { type Facts, type HeldFacts, isDeleting } from './facts.ts';
import { budgetStopOf } from './limits.ts';
import { isContractOver } from './rules/contract-end.ts';

/**
 * Returns an event for each power change of a recorded machine: stop or start requested, stopped, running again, or
 * stopped by the marketplace itself. It compares the previous status with the next one.
 */
export function addedPowerEvents(facts: HeldFacts, { status }: StatusDecision): Added {
  return isDeleting(facts.object) ? {} : { firstEvents: powerEvents(facts, status) };
}

type NewStatus = StatusDecision['status'];

function powerEvents(facts: HeldFacts, { fields, verdict }: NewStatus): readonly EventNote[] {
  const { status, spec } = facts.object;
  const id = fields.instanceId;
  if (id === undefined || id !== status?.instanceId || spec.adopt?.policy === 'Observe') return [];
  const before = status.conditions?.find(({ type }) => type === 'Ready')?.reason;
  const now = verdict.Ready.reason;
  const turned =
    before === now
      ? undefined
      : turnEvent(now, `machine ${id}`, {
          cost: fields.cost,
          budget: budgetStopOf(facts),
          idle: fields.idleEndedAt === undefined ? undefined : verdict.Ready.message,
          isAtRest: isStopped(recordedState(fields)),
        });
  return [
    // The machine of a run stops itself when its program has ended.
    ...(spec.powerState === 'Running' && !isRun(facts.object) ? unrequested(facts, fields, before) : []),
    ...(turned === undefined ? [] : [turned]),
  ];
}

type Fields = NewStatus['fields'];

/** Causes of a stop in addition to powerState. */
interface Causes {
  readonly budget: string | undefined;
  readonly idle: string | undefined;
  readonly isAtRest: boolean;
}

/** Returns the Event of a machine that turns to this reason of Ready; undefined for reasons without one. */
function turnEvent(
  reason: Reason,
  machine: string,
  { cost, budget, idle, isAtRest }: Pick<Fields, 'cost'> & Causes,
): EventNote | undefined {
  if (reason === 'Stopping' && budget !== undefined)
    return { ...normal('BudgetReached', `Stopping ${machine}: ${budget}`), type: 'Warning' };
  if (reason === 'Stopping' && idle !== undefined)
    return { ...normal('Idle', `Stopping ${machine}: ${idle}`), type: 'Warning' };
  if (reason === 'Stopping') return normal('InstanceStopping', `Stopping ${machine}: powerState is Stopped.`);
  if (reason === 'Idle' && idle !== undefined && isAtRest)
    return normal('Idle', `M${machine.slice(1)}: ${idle}`);
  if (reason === 'Stopped')
    return normal('InstanceStopped', `M${machine.slice(1)} stopped as requested.${diskText(cost)}`);
  if (reason === 'Starting') return normal('InstanceStarting', `Starting ${machine}: powerState is Running.`);
  return undefined;
}

/** Returns the event if a machine that should run was stopped by the marketplace, or runs again after a stop. */
function unrequested(facts: HeldFacts, fields: Fields, before: string | undefined): readonly EventNote[] {
  const recorded = facts.object.status;
  const state = recordedState(fields);
  const machine = `Machine ${fields.instanceId}`;
  const wasStopped = isStopped(recordedState(recorded));
  if (wasStopped && state.state === 'running')
    return [normal('InstanceStarted', `${machine} runs again.${billed(billedNow(facts), 'It bills')}`)];
  const stops = recorded?.actualStatus !== undefined && !wasStopped && isStopped(state);
  if (!stops || before === 'Stopping') return [];
  return [stoppedUnrequested(facts, machine, diskText(fields.cost))];
}

/**
 * Returns the event of a stop that was not requested, unless the contract ended: then neither credit nor bids are the
 * cause.
 */
function stoppedUnrequested(
  facts: Pick<Facts, 'object' | 'machine' | 'account' | 'clock'>,
  machine: string,
  disk: string,
): EventNote {
  if (isContractOver(facts, facts.machine.list?.recorded)) {
    const note = `${machine} was stopped by the marketplace: its rental contract has ended.${disk}`;
    return { type: 'Warning', reason: 'ContractEnd', action: 'Power', note };
  }
  const note = `${machine} was stopped by the marketplace, not on request.${causeOf(facts)}${disk}`;
  return { type: 'Warning', reason: 'StoppedByMarketplace', action: 'Power', note };
}

const diskText = (cost: Fields['cost']): string => billed(cost?.storagePricePerHour, 'Its disk bills');

/** Returns the likely cause, by the facts of the offer and the account. */
function causeOf({
  machine: { list },
  account: { facts: accountFacts },
}: Pick<Facts, 'machine' | 'account'>): string {
  if (accountFacts?.creditUsedUp) return ' The credit of the account is used up: add credit.';
  return list?.recorded?.interruptible === true ? ' It is interruptible: others may have bid more.' : '';
}

function billed(pricePerHour: string | undefined, what: string): string {
  return pricePerHour === undefined ? '' : ` ${what} $${pricePerHour}/h.`;
}

const normal = (reason: string, note: string): EventNote => ({
  type: 'Normal',
  reason,
  action: 'Power',
  note,
});
