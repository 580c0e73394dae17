import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import { type AvoidTarget, withAvoided } from '../../instance/avoidance.ts';
import { endCost, HISTORY_LENGTH, machineCost } from '../../instance/cost.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatDollars } from '../../lib/money.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import type { Facts, OwnedMachine } from './facts.ts';
import { carriedFields, withoutMachine } from './machine-fields.ts';
import type { StatusFields } from './types.ts';

/** How a machine came to its end. */
export interface Ending {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  /** The service's clock where billing ended. */
  readonly endedAt: number;
}

const AVOID_KIND: Partial<Readonly<Record<Reason, 'machine' | 'host'>>> = {
  HostOffline: 'host',
  HostSilent: 'host',
  Exited: 'machine',
  ProvisioningTimedOut: 'machine',
  LoadingTimedOut: 'machine',
  CannotStart: 'machine',
  Outbid: 'machine',
};

/** What the account should keep off after such an end; undefined if the machine is not to blame, or many failed together. */
export function avoidTarget(facts: Facts, reason: Reason): AvoidTarget | undefined {
  if (facts.accountFacts?.blames === false) return undefined;
  const { status } = facts.object;
  const kind = AVOID_KIND[reason];
  if (kind === 'host' && status?.hostId !== undefined) return { type: 'host', id: status.hostId };
  if (kind !== undefined && status?.machineId !== undefined) return { type: 'machine', id: status.machineId };
  return undefined;
}

/** The fields after a machine has ended: it moves into the history, its money into what has accrued. */
export function endedFields(facts: Facts, ending: Ending): StatusFields {
  const { status } = facts.object;
  const fields = withoutMachine(carriedFields(facts));
  const cost = endCost(status?.cost, ending.endedAt);
  return {
    ...fields,
    attempt: ending.machine.attempt,
    ...(cost === undefined ? {} : { cost }),
    history: [...(fields.history ?? []), pastMachine(status, ending)].slice(-HISTORY_LENGTH),
    ...avoidField(facts, ending.reason),
  };
}

type PastMachine = NonNullable<GpuInstanceStatus['history']>[number];

function pastMachine(status: GpuInstanceStatus = {}, { machine, reason, endedAt }: Ending): PastMachine {
  const { machineId, hostId, gpu, rentedAt, cost } = status;
  const begun = parseTime(rentedAt) ?? parseTime(cost?.since) ?? endedAt;
  return {
    attempt: machine.attempt,
    instanceId: machine.instanceId,
    ...omitUndefined({ machineId, hostId, gpuName: gpu?.name }),
    reason,
    endedAt: formatTime(endedAt),
    minutes: Math.max(0, Math.round((endedAt - begun) / 60_000)),
    cost: formatDollars(machineCost(status, endedAt)),
  };
}

function avoidField(facts: Facts, reason: Reason): Pick<StatusFields, 'avoid'> {
  const avoid = withAvoided(facts.object.status?.avoid, avoidTarget(facts, reason), facts.now);
  return avoid.length === 0 ? {} : { avoid };
}
