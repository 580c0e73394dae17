import type { GpuInstance, GpuInstanceStatus } from '../../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION, labels } from '../../src/api/v1alpha1/names.ts';
import { beginCost } from '../../src/instance/cost.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { formatTime } from '../../src/lib/time.ts';
import { spec } from './observed.ts';

/** Returns an entry of November 2026; pass only what matters. */
export function entry(change: Partial<Entry> = {}): Entry {
  const cost = change.cost ?? 1_000_000;
  return {
    ...{ account: 'team-a/main', namespace: 'team-a', group: '', gpu: 'RTX 4090', gpus: 1, labels: {} },
    ...{ uid: 'uid-1', machine: '100', name: 'trainer' },
    start: Date.UTC(2026, 10, 3, 10),
    end: Date.UTC(2026, 10, 3, 12),
    ...{ total: cost, price: 500_000, reason: 'Deleting', isEstimated: false },
    ...change,
    cost,
  };
}

/** Returns the worker `trainer` of the group `chat` with this status; pass only what matters. */
export function costObject(
  status: GpuInstanceStatus,
  change: Partial<GpuInstance['spec']> = {},
): GpuInstance {
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: {
      ...{ namespace: 'team-a', name: 'trainer', uid: 'uid-1' },
      labels: { [labels.endpointGroup]: 'chat', team: 'research', secret: 'no' },
    },
    spec: { ...spec(), ...change },
    status,
  };
}

/** Returns the status of a machine with two GPUs that has been rented since then for one dollar an hour. */
export function runningSince(since: number): GpuInstanceStatus {
  return {
    instanceId: '100',
    rentedAt: formatTime(since),
    gpu: { name: 'RTX 4090', count: 2 },
    cost: beginCost(undefined, since, 1_000_000),
  };
}
