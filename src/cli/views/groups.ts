import type { EndpointGroupRow } from '../../marketplace/groups/endpoint-group.ts';
import type { WorkerGroupRow } from '../../marketplace/groups/worker-group.ts';
import type { View } from '../output/output.ts';

const text = (value: number | string | undefined): string | undefined =>
  value === undefined ? undefined : String(value);

/** An endpoint group as JSON shows it: without its own key. */
export function endpointRow({ apiKey: _kept, ...row }: EndpointGroupRow) {
  return row;
}

export const endpointView: View<ReturnType<typeof endpointRow>> = {
  kind: 'endpoint',
  name: ({ id }) => String(id),
  columns: [
    { header: 'Id', text: ({ id }) => String(id) },
    { header: 'Name', text: ({ name }) => name },
    { header: 'State', text: ({ state }) => state },
    { header: 'Min load', text: ({ minLoad }) => text(minLoad) },
    { header: 'Target util', text: ({ targetUtilization }) => text(targetUtilization) },
    { header: 'Cold workers', text: ({ coldWorkers }) => text(coldWorkers) },
    { header: 'Max workers', text: ({ maxWorkers }) => text(maxWorkers) },
    { header: 'Min cold load', text: ({ minColdLoad }) => text(minColdLoad), wide: true },
    { header: 'Cold mult', text: ({ coldMultiplier }) => text(coldMultiplier), wide: true },
    { header: 'Max queue', text: ({ maxQueueSeconds }) => seconds(maxQueueSeconds), wide: true },
    { header: 'Target queue', text: ({ targetQueueSeconds }) => seconds(targetQueueSeconds), wide: true },
    { header: 'Inactivity', text: (row) => seconds(row.inactivityTimeoutSeconds), wide: true },
  ],
};

export const workerGroupView: View<WorkerGroupRow> = {
  kind: 'workergroup',
  name: ({ id }) => String(id),
  columns: [
    { header: 'Id', text: ({ id }) => String(id) },
    { header: 'Endpoint', text: ({ endpointName, endpointId }) => endpointName ?? text(endpointId) },
    { header: 'Template', text: ({ templateHash, templateId }) => templateHash ?? text(templateId) },
    {
      header: 'GPU memory',
      text: ({ gpuMemoryGB }) => (gpuMemoryGB === undefined ? undefined : `${gpuMemoryGB}G`),
    },
    { header: 'Search', text: ({ searchParams }) => searchParams, wide: true },
    { header: 'Launch', text: ({ launchArgs }) => launchArgs, wide: true },
  ],
};

function seconds(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value}s`;
}
