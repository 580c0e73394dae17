import { gpuInstanceConditions } from '../api/v1alpha1/conditions.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { outageText } from '../api/v1alpha1/outage.ts';
import { provisionalCost, totalCost } from '../instance/cost.ts';
import { endsText } from '../instance/machine-fuses.ts';
import { costOver, parseDollars } from '../lib/money.ts';
import { parseQuantity } from '../lib/quantity.ts';
import { openPortsText } from '../reach/machine-addresses.ts';
import { dollarText, hourlyText, inDollars } from './amounts.ts';
import type { ShownEvent } from './events.ts';
import { nextSteps } from './next-steps.ts';
import { plannedSteps } from './planned-steps.ts';
import { type ReportTable, type StatusReport, since, UNSEEN } from './report.ts';

const DAY_MS = 86_400_000;

/** Returns the report on a GpuInstance from its own record, at `now` (epoch milliseconds). */
export function instanceReport(
  object: GpuInstance,
  events: readonly ShownEvent[],
  now: number,
): StatusReport {
  const { metadata, status } = object;
  const conditions = status?.conditions ?? [];
  return {
    object: `gpui/${metadata.name}`,
    namespace: metadata.namespace ?? '',
    facts: [...lifeFacts(object, now), ...machineFacts(object), ...moneyFacts(object, now)],
    next: [
      ...plannedSteps(object, now).map(({ text }) => text),
      ...nextSteps(conditions, gpuInstanceConditions),
    ],
    tables: history(object, now),
    conditions,
    events,
  };
}

type Fact = readonly [label: string, text: string];

function fact(label: string, text: string | undefined): readonly Fact[] {
  return text === undefined || text === '' ? [] : [[label, text]];
}

function lifeFacts({ metadata, spec, status }: GpuInstance, now: number): readonly Fact[] {
  const desired = metadata.deletionTimestamp
    ? 'being deleted'
    : spec.paused
      ? 'paused'
      : `desired: ${spec.powerState}`;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return [
    ...fact('Phase', `${status?.phase ?? UNSEEN} (${desired})`),
    ...fact('Ready', ready && `${ready.status}, ${ready.reason}: ${ready.message}`),
    ...fact('Outage', status?.outage && outageText(status.outage, now)),
    ...fact('Age', since(metadata.creationTimestamp, now)),
    ...fact(
      'Account',
      spec.accountRef.namespace
        ? `${spec.accountRef.namespace}/${spec.accountRef.name}`
        : spec.accountRef.name,
    ),
  ];
}

function machineFacts({ spec, status }: GpuInstance): readonly Fact[] {
  const { gpu, ssh, image = spec.image, binding, selfEnd } = status ?? {};
  // The addresses of a stopped machine stay on record, but they do not answer.
  const answers = status?.phase !== 'Stopped';
  return [
    ...fact('Machine', machineText(status)),
    ...fact('GPU', gpu && gpuText(gpu)),
    ...fact('Image', image),
    ...(answers ? fact('SSH', ssh && `ssh -p ${ssh.port} root@${ssh.host}`) : []),
    ...(answers ? fact('Ports', openPortsText(status ?? {})) : []),
    ...fact('Secret', binding?.name),
    ...fact('Self-end', selfEnd && selfEndText(selfEnd)),
  ];
}

type Status = NonNullable<GpuInstance['status']>;

function machineText({ instanceId, offerId, machineId, hostId }: Partial<Status> = {}): string {
  if (instanceId === undefined) return 'none';
  const ids = { instance: instanceId, offer: offerId, machine: machineId, host: hostId };
  return Object.entries(ids)
    .flatMap(([name, id]) => (id === undefined ? [] : [`${name} ${id}`]))
    .join(', ');
}

/** Returns `proven: after 25h of running`, or the state of the proof with its reason. */
function selfEndText({ proof, checkedAt, detail, ...fuses }: NonNullable<Status['selfEnd']>): string {
  const known = proof === 'Unproven' && checkedAt === undefined ? 'not proven yet' : proof.toLowerCase();
  return `${known}: after ${endsText(fuses)}${detail === undefined ? '' : `; ${detail}`}`;
}

function gpuText({ count, name, memory }: NonNullable<Status['gpu']>): string {
  const bytes = parseQuantity(memory ?? '');
  return `${count} × ${name}${bytes ? `, ${Math.floor(bytes / 1e9)}G each` : ''}`;
}

function moneyFacts({ spec, status }: GpuInstance, now: number): readonly Fact[] {
  const cost = status?.cost;
  if (!cost) return [];
  const price = parseDollars(cost.pricePerHour);
  const spent = totalCost(cost, now);
  const rate =
    price === undefined ? 'nothing now' : `${hourly(price)}/h, ${money(costOver(price, DAY_MS))}/day`;
  const stopped = parseDollars(cost.storagePricePerHour);
  const reported = parseDollars(cost.reported?.pricePerHour);
  const limit = spec.maxTotalCost === undefined ? '' : ` of at most $${spec.maxTotalCost}`;
  return [
    ...fact('Cost', `${rate}; ${money(spent)} so far${limit}`),
    ...fact(
      'Unconfirmed',
      reported === undefined
        ? undefined
        : `${hourly(reported)}/h by lists; it would add ${money(provisionalCost(cost, now))}, which counts for new rentals only`,
    ),
    ...fact('Stopped', stopped === undefined ? undefined : `${hourly(stopped)}/h for its disk`),
  ];
}

const hourly = (amount: number): string => hourlyText(inDollars(amount)) ?? '';

function money(amount: number): string {
  return dollarText(inDollars(amount)) ?? '';
}

function history({ status }: GpuInstance, now: number): readonly ReportTable[] {
  const rows = (status?.history ?? []).map(
    ({ attempt, instanceId, gpuName, reason, endedAt, rentedMinutes, cost, pricePerHour, lastStatus }) => [
      String(attempt),
      instanceId,
      gpuName ?? '',
      lastStatus ?? '',
      reason,
      since(endedAt, now),
      `${rentedMinutes}m`,
      pricePerHour === undefined ? '' : `$${pricePerHour}`,
      `$${cost}`,
    ],
  );
  return [
    {
      title: 'Earlier machines',
      headers: ['Attempt', 'Instance', 'GPU', 'Last state', 'Ended by', 'Ago', 'Rented', '$/h', 'Cost'],
      rows,
    },
  ];
}
