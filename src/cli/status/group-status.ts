import { endpointGroupConditions } from '../../api/v1alpha1/conditions.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { dollarText } from '../amounts.ts';
import type { ShownEvent } from '../cluster-objects.ts';
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

function facts({ metadata, spec, status }: EndpointGroup, now: number): StatusReport['facts'] {
  const counts = status
    ? `${status.ready ?? 0} ready, ${status.hot ?? 0} hot, ${status.cold ?? 0} cold, ${status.starting ?? 0} starting, ${status.draining ?? 0} draining; at most ${spec.maxWorkers}`
    : 'not yet seen by the operator';
  const used =
    status?.utilizationPercent === undefined ? '' : `, ${status.utilizationPercent} % of the ready capacity`;
  const price = status?.pricePerHour === undefined ? undefined : Number(status.pricePerHour);
  const all: readonly (readonly [string, string | undefined])[] = [
    ['Phase', metadata.deletionTimestamp ? 'Deleting' : status?.phase],
    ['Workers', counts],
    ['Load', status?.load === undefined ? undefined : `${status.load} per second${used}`],
    ['Cost', price === undefined ? undefined : `${dollarText(price)}/h, ${dollarText(price * 24)}/day`],
    ['Endpoint', status?.endpoint],
    ['Decision', status?.autoscaling?.explanation],
    ['Age', since(metadata.creationTimestamp, now)],
  ];
  return all.flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}

function workerRow({ metadata, status }: GpuInstance, now: number): readonly string[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return [
    metadata.name,
    status?.phase ?? '',
    ready?.status ?? '',
    status?.cost?.pricePerHour ?? '',
    status?.endpoint ?? '',
    since(metadata.creationTimestamp, now),
  ];
}
