import type { EndpointGroupStatus } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstanceStatus } from '../../src/api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccountStatus } from '../../src/api/v1alpha1/marketplace-account.ts';

const NOON = '2026-11-20T12:00:00Z';

function ready(reason: string, message: string, generation: number) {
  const condition = { type: 'Ready', status: 'True', reason, message } as const;
  return { ...condition, lastTransitionTime: NOON, observedGeneration: generation };
}

const account: Required<MarketplaceAccountStatus> = {
  observedGeneration: 1,
  conditions: [ready('Ready', 'Machines can be rented with this account.', 1)],
  login: { url: 'https://console.vast.ai', userId: 401, provenAt: NOON },
  twoFactor: 'Enabled',
  sshKeyRegistered: true,
  labelsEchoed: true,
  credit: '41.5',
  pricePerHour: '0.8',
  runway: '51h52m30s',
  machines: { objects: 3, rented: 2, billing: 2, retained: 0, orphaned: 0, foreign: 1 },
  avoid: [{ kind: 'Host', id: 1207, until: '2026-11-21T12:00:00Z', failures: 1, reason: 'CannotStart' }],
  retained: [
    {
      instanceId: 4711,
      owner: 'ml/trainer',
      ownerUid: '6d1c6c1e-8c4b-4c0e-9a6e-2f1b7c1d9e55',
      since: NOON,
      policy: 'Retain',
      pricePerHour: '0.3642',
    },
  ],
  lastRentalAt: NOON,
  rolledBack: [4711],
  rollbackConfirmed: NOON,
  rollbackConfirmedAt: NOON,
  deletedObjects: { month: '2026-11', spent: '12.25', rentals: [NOON] },
  breaker: { open: false, since: NOON, newlyBad: 4, closedBy: NOON },
  requestedAt: NOON,
};

const instance: Required<GpuInstanceStatus> = {
  observedGeneration: 2,
  phase: 'Running',
  conditions: [ready('Running', 'The machine runs.', 2)],
  attempt: 2,
  instanceId: 4711,
  claim: '9f2b6c1d9e554c0e',
  offerId: 902113,
  offerIndex: 0,
  offerPricePerHour: '0.36',
  machineId: 55021,
  hostId: 1207,
  actualStatus: 'running',
  actualStatusSince: NOON,
  badSeen: 0,
  rentedAt: NOON,
  runningAt: '2026-11-20T12:01:15Z',
  startRequestedAt: NOON,
  progressAt: NOON,
  firstRentedAt: NOON,
  specHash: '3b1f0a92',
  image: 'nvidia/cuda:12.9.1-runtime-ubuntu24.04',
  endpoint: '203.0.113.17:20022',
  ssh: { host: '203.0.113.17', port: 20022 },
  publicAddress: '203.0.113.17',
  ports: [{ containerPort: 8080, protocol: 'TCP', publicPort: 40017, name: 'http' }],
  gpu: { name: 'RTX 4090', count: 1, memoryMB: 24564 },
  cost: {
    pricePerHour: '0.3642',
    storagePricePerHour: '0.0042',
    accrued: '1.2',
    accruedBeforeMonth: '0.9',
    since: NOON,
  },
  rentals: [NOON],
  avoid: [{ kind: 'Offer', id: 902112, until: '2026-11-20T12:10:00Z' }],
  history: [
    {
      attempt: 1,
      instanceId: 4699,
      machineId: 55020,
      hostId: 1206,
      gpuName: 'RTX 4090',
      reason: 'HostOffline',
      endedAt: NOON,
      minutes: 93,
      cost: '0.56',
    },
  ],
  binding: { name: 'trainer-connection' },
  requestedAt: NOON,
  replacedAt: NOON,
};

const group: Required<EndpointGroupStatus> = {
  observedGeneration: 3,
  conditions: [ready('Stable', '3 workers are ready.', 3)],
  replicas: 3,
  selector: 'gpurental.dev/endpoint-group=llm',
  hot: 3,
  cold: 2,
  ready: 3,
  starting: 0,
  draining: 0,
  total: 5,
  updated: 5,
  load: '210.5',
  utilizationPercent: 70,
  pricePerHour: '1.1',
  endpoint: 'llm.ml.svc',
  templateHash: 'v1-3b1f0a92',
  everReady: true,
  lastActivity: NOON,
  panicUntil: '2026-11-20T12:01:00Z',
  loadMaxima: [{ at: NOON, load: '240' }],
  autoscaling: {
    at: NOON,
    load: '210.5',
    burstLoad: '215',
    longLoad: '240',
    queue: '0',
    capacity: '300',
    perf: '100',
    rateCapacity: '233.889',
    queueCapacity: '210.5',
    hotCapacity: '233.889',
    totalCapacity: '600',
    heldHotCapacity: '233.889',
    heldTotalCapacity: '600',
    hotNeed: 3,
    totalNeed: 5,
    hot: 3,
    total: 5,
    rule: 'Load',
    explanation: 'The load of 210.5 at 90 % needs 3 workers of 100.',
  },
  requestedAt: NOON,
  wokenAt: NOON,
  phase: 'Ready',
};

/** A status with every field, by kind: the examples of the reference. */
export const statusExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  MarketplaceAccount: account,
  GpuInstance: instance,
  EndpointGroup: group,
};
