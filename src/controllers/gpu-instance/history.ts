import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { facetsOf, type Reason } from '../../api/v1alpha1/reasons.ts';
import { type AvoidTarget, withAvoided } from '../../instance/avoidance.ts';
import {
  endCost,
  HISTORY_LENGTH,
  isCostEstimated,
  machineCost,
  machineCostUntil,
  monthStart,
} from '../../instance/cost.ts';
import { failuresAfter, isOfSpec, type RepeatedFailure } from '../../instance/repeated-failure.ts';
import { runAfterEnd } from '../../instance/run.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatDollars } from '../../lib/money.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import type { Facts } from './facts.ts';
import { carriedFields, withoutMachine } from './machine-fields.ts';
import type { OwnedMachine, StatusFields } from './types.ts';

/** End of a machine. */
interface Ending {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  /** Time by the service's clock at which billing ended. */
  readonly endedAt: number;
  /**
   * Time by the same clock at the proof that the machine is gone; undefined if the reply to a destroy dates the end.
   */
  readonly provenGoneAt?: number | undefined;
}

/**
 * Returns the target that the account should avoid after such an end; undefined if the machine is not the cause, or
 * many failed together.
 */
export function avoidTarget(
  facts: Pick<Facts, 'object' | 'account'>,
  reason: Reason,
): AvoidTarget | undefined {
  if (facts.account.facts?.countsHostFailures === false) return undefined;
  const { status } = facts.object;
  // At a marketplace without a start no machine starts, so this machine is not at fault.
  if (reason === 'CannotStart' && facts.account.facts?.startUnsupported === true) return undefined;
  const { avoids: kind } = facetsOf(reason);
  if (kind === 'host' && status?.hostId !== undefined) return { type: 'host', id: status.hostId };
  if (kind !== undefined && status?.machineId !== undefined) return { type: 'machine', id: status.machineId };
  return undefined;
}

type PastMachine = NonNullable<GpuInstanceStatus['history']>[number];

/** Returns the fields after a machine has ended: it moves into the history, its cost into the accrued sum. */
export function endedFields(
  facts: Pick<Facts, 'object' | 'account' | 'clock' | 'memory'>,
  { endedAt: givenEnd, ...end }: Ending,
): StatusFields {
  const { machine, reason, provenGoneAt } = end;
  const { status = {} } = facts.object;
  const { machineId, hostId, gpu, rentedAt, runningAt } = status;
  const begun = parseTime(rentedAt) ?? parseTime(status.cost?.since) ?? givenEnd;
  // A machine that no list ever showed is also missing from lists before its rental.
  const endedAt = Math.max(givenEnd, begun);
  const pricePerHour = status.cost?.pricePerHour;
  const fields = withoutMachine(carriedFields(facts));
  const total = endCost(status.cost, endedAt);
  const cost = machineCost(status, endedAt);
  const failures = failuresOf(facts, { ...end, endedAt }, cost);
  // Failures caused by the spec are no fault of a machine; this also applies to the first machines that failed by it.
  const isSpecs = isOfSpec(failures);
  const forgiven = isSpecs ? forgivenMachine(facts)?.id : undefined;
  const before = status.avoid?.filter(({ kind, id }) => kind !== 'Machine' || id !== forgiven);
  const avoid = withAvoided(before, isSpecs ? undefined : avoidTarget(facts, reason), facts.clock.now);
  const past: PastMachine = {
    attempt: machine.attempt,
    instanceId: machine.instanceId,
    ...omitUndefined({ machineId, hostId, gpuName: gpu?.name, gpuCount: gpu?.count }),
    reason,
    endedAt: formatTime(endedAt),
    ...(provenGoneAt !== undefined && { provenGoneAt: formatTime(provenGoneAt) }),
    rentedMinutes: Math.round((endedAt - begun) / 60_000),
    ...endedCost(status, endedAt),
    ...omitUndefined({ accrued: total?.accrued, pricePerHour, rentedAt, runningAt }),
    ...omitUndefined({ lastStatus: status.actualStatus }),
  };
  const { repeatedFailure: _before, avoid: _avoided, ...rest } = fields;
  const run = runAfterEnd(facts.object, machine.attempt, reason);
  return {
    ...rest,
    ...(run && { run }),
    attempt: machine.attempt,
    ...(total && { cost: total }),
    history: [...(fields.history ?? []), past].slice(-HISTORY_LENGTH),
    ...(avoid.length > 0 && { avoid }),
    ...(failures && { repeatedFailure: failures }),
  };
}

function endedCost(
  status: GpuInstanceStatus,
  endedAt: number,
): Pick<PastMachine, 'cost' | 'costBeforeMonth' | 'costEstimated'> {
  const cost = machineCost(status, endedAt);
  const beforeMonth = Math.min(cost, machineCostUntil(status, monthStart(endedAt)) ?? 0);
  return {
    cost: formatDollars(cost),
    ...(beforeMonth > 0 && { costBeforeMonth: formatDollars(beforeMonth) }),
    ...(isCostEstimated(status.cost) && { costEstimated: true }),
  };
}

/**
 * Returns the consecutive failures with this end. While many machines of the account fail together, none proves
 * anything about a spec.
 */
function failuresOf(
  {
    object,
    account: { facts: accountFacts },
    memory,
    clock: { now },
  }: Pick<Facts, 'object' | 'account' | 'clock' | 'memory'>,
  { reason, endedAt }: Ending,
  cost: number,
): RepeatedFailure | undefined {
  if (accountFacts?.countsHostFailures === false) return object.status?.repeatedFailure;
  return failuresAfter(object, { reason, endedAt, now, cost, text: memory.progress?.text });
}

/**
 * Returns the machine that was avoided for the first of the consecutive failures; undefined if there is none.
 */
export function forgivenMachine({ object: { status } }: Pick<Facts, 'object'>): AvoidTarget | undefined {
  const { machines, machineId } = status?.repeatedFailure ?? {};
  return machines === 1 && machineId !== undefined ? { type: 'machine', id: machineId } : undefined;
}
