import { endpointGroupConditions } from '../api/v1alpha1/conditions.ts';
import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { ShownEvent } from './events.ts';
import { type GroupFigures, groupFigures } from './group-figures.ts';
import { groupFacts, WORKERS } from './group-text.ts';
import { nextSteps } from './next-steps.ts';
import { type StatusReport, since, UNSEEN } from './report.ts';

/** Returns the report on an EndpointGroup from its own record and its workers, at `now` (epoch milliseconds). */
export function groupReport(
  group: EndpointGroup,
  seen: { readonly workers: readonly GpuInstance[]; readonly events: readonly ShownEvent[] },
  now: number,
): StatusReport {
  const conditions = group.status?.conditions ?? [];
  const figures = groupFigures(group, seen.workers, now);
  return {
    object: `epg/${group.metadata.name}`,
    namespace: group.metadata.namespace ?? '',
    facts: facts(group, figures, now),
    next: nextSteps(conditions, endpointGroupConditions),
    tables: [
      {
        title: 'Workers',
        headers: WORKERS.map(({ header }) => header),
        rows: figures.workerList.map((worker) => WORKERS.map(({ text }) => String(text(worker) ?? ''))),
      },
    ],
    conditions,
    events: seen.events,
  };
}

function facts(
  { metadata, status }: EndpointGroup,
  figures: GroupFigures,
  now: number,
): StatusReport['facts'] {
  const seen = status ? groupFacts(figures, now) : [['Workers', UNSEEN] as const];
  const all: readonly (readonly [string, string | undefined])[] = [
    ['Phase', figures.phase],
    ...seen,
    ['Endpoint', status?.endpoint],
    ['Decision', status?.autoscaling?.explanation],
    ['Age', since(metadata.creationTimestamp, now)],
  ];
  return all.flatMap(([label, text]) => (text === undefined ? [] : [[label, text] as const]));
}
