import { endpointGroupConditions } from '../../api/v1alpha1/conditions.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { ShownEvent } from '../objects/cluster-objects.ts';
import { dollarText } from '../output/amounts.ts';
import { nextSteps, type StatusReport, since } from './report.ts';

/** Everything that an EndpointGroup's own record and its workers tell, at `now` (epoch milliseconds). */
export function groupReport(
  group: EndpointGroup,
  seen: { readonly workers: readonly GpuInstance[]; readonly events: readonly ShownEvent[] },
  now: number,
): StatusReport {
  const conditions = group.status?.conditions ?? [];
  return {
    object: `epg/${group.metadata.name}`,
    namespace: group.metadata.namespace ?? '',
    facts: facts(group, now),
    next: nextSteps(conditions, endpointGroupConditions),
    tables: [
      {
        title: 'Workers',
        headers: ['Name', 'Phase', 'Ready', '$/h', 'Endpoint', 'Age'],
        rows: seen.workers.map((worker) => workerRow(worker, now)),
      },
    ],
    conditions,
    events: seen.events,
  };
}

type Status = NonNullable<EndpointGroup['status']>;

function facts({ metadata, spec, status }: EndpointGroup, now: number): StatusReport['facts'] {
  const seen = status
    ? seenFacts(status, spec.maxWorkers)
    : [['Workers', 'not yet seen by the operator'] as const];
  const all: readonly (readonly [string, string | undefined])[] = [
    ['Phase', metadata.deletionTimestamp ? 'Deleting' : status?.phase],
    ...seen,
    ['Age', since(metadata.creationTimestamp, now)],
  ];
  return all.flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}

function seenFacts(status: Status, maxWorkers: number): readonly (readonly [string, string | undefined])[] {
  const { ready = 0, hot = 0, cold = 0, starting = 0, draining = 0 } = status;
  const price = status.pricePerHour === undefined ? undefined : Number(status.pricePerHour);
  return [
    [
      'Workers',
      `${ready} ready, ${hot} hot, ${cold} cold, ${starting} starting, ${draining} draining; at most ${maxWorkers}`,
    ],
    ['Load', loadText(status)],
    ['Cost', price === undefined ? undefined : `${dollarText(price)}/h, ${dollarText(price * 24)}/day`],
    ['Endpoint', status.endpoint],
    ['Decision', status.autoscaling?.explanation],
  ];
}

function loadText({ load, utilizationPercent }: Status): string | undefined {
  if (load === undefined) return undefined;
  const used = utilizationPercent === undefined ? '' : `, ${utilizationPercent} % of the ready capacity`;
  return `${load} per second${used}`;
}

function workerRow({ metadata, status }: GpuInstance, now: number): readonly string[] {
  const { phase = '', endpoint = '', cost, conditions = [] } = status ?? {};
  const ready = conditions.find(({ type }) => type === 'Ready');
  const age = since(metadata.creationTimestamp, now);
  return [metadata.name, phase, ready?.status ?? '', cost?.pricePerHour ?? '', endpoint, age];
}
