import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstance, GpuInstanceStatus } from '../../src/api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../src/api/v1alpha1/marketplace-account.ts';
import { annotations, labels } from '../../src/api/v1alpha1/names.ts';
import { reasons } from '../../src/api/v1alpha1/reasons.ts';
import { accountObject } from '../builders/fleet-objects.ts';
import { groupObject, workerObject } from '../builders/group-worker.ts';

/* Objects in many states, for tests and pictures of the page. */

type Status = Partial<GpuInstanceStatus>;

/** Returns the objects with times around `now` (epoch milliseconds). */
export function fleetOfStates(now: number): readonly (GpuInstance | EndpointGroup | MarketplaceAccount)[] {
  const time = (seconds: number) => new Date(now + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = (
    type: string,
    status: 'True' | 'False',
    reason: keyof typeof reasons,
    message?: string,
  ) => ({
    ...{ type, status, reason, observedGeneration: 1 },
    message: message ?? reasons[reason].sentence,
    lastTransitionTime: time(-3_000),
  });
  const ready = [condition('Ready', 'True', 'Ready'), condition('Rented', 'True', 'Rented')];
  const waiting = (reason: keyof typeof reasons, message?: string) => [
    condition('Ready', 'False', reason, message),
    condition('Reconciling', 'True', reason, message),
  ];
  const machine = (id: number, gpu: string, price: string, count = 1): Status => ({
    ...{
      observedGeneration: 1,
      phase: 'Running',
      instanceId: String(20_000_000 + id),
      offerId: String(700 + id),
    },
    ...{ machineId: String(5_500 + id), hostId: String(1_200 + id), actualStatus: 'running', attempt: 1 },
    ...{
      rentedAt: time(-40_000 - id * 700),
      firstRentedAt: time(-40_000 - id * 700),
      runningAt: time(-39_800),
    },
    gpu: { name: gpu, count, memory: '24G' },
    cost: { pricePerHour: price, accrued: '3.20', since: time(-40_000), accruedBeforeMonth: '0.00' },
    ...{
      endpoint: `203.0.113.${id}:${40_000 + id}`,
      ssh: { host: `ssh${id}.example.com`, port: 40_000 + id },
    },
    conditions: ready,
  });
  const instance = (
    namespace: string,
    name: string,
    {
      spec = {},
      status,
      own = {},
      marks = {},
      deleted = false,
    }: {
      spec?: Record<string, unknown>;
      status?: Status;
      own?: Record<string, string>;
      marks?: Record<string, string>;
      deleted?: boolean;
    },
  ): GpuInstance => {
    const object = workerObject(name, {
      spec: { offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }], ...spec },
      status: status ?? { conditions: [] },
      annotations: marks,
      metadata: {
        ...{ namespace, uid: `${namespace}-${name}`, labels: own, creationTimestamp: time(-90_000) },
        ...(deleted && { deletionTimestamp: time(-45) }),
      },
    });
    return object;
  };
  const worker = (name: string, id: number, marks: Record<string, string>) =>
    instance('serving', name, {
      status: machine(id, 'L40S', '0.62'),
      own: { [labels.endpointGroup]: 'chat', team: 'serving' },
      marks,
    });
  const history = [
    {
      ...{
        attempt: 1,
        instanceId: '19999812',
        gpuName: 'RTX 4090',
        reason: 'Exited',
        endedAt: time(-52_000),
      },
      ...{ rentedMinutes: 212, cost: '1.41', pricePerHour: '0.40', lastStatus: 'exited' },
    },
  ];
  return [
    instance('vision', 'trainer', {
      spec: { maxLifetime: '24h', ssh: true },
      status: { ...machine(7, 'RTX 4090', '0.402', 2), attempt: 2, history },
      own: { team: 'vision' },
    }),
    instance('vision', 'notebook', {
      spec: { idle: { after: '1h', action: 'Stop' } },
      status: {
        ...machine(9, 'RTX 3090', '0.187'),
        idle: { since: time(-3_400), endsAt: time(200) },
        conditions: [...ready, condition('Idle', 'True', 'Idle')],
      },
      own: { team: 'vision' },
    }),
    instance('speech', 'asr-train-eu-west', {
      status: {
        ...{ phase: 'Pending', observedGeneration: 1 },
        conditions: waiting(
          'NoOffers',
          '160 offers match, but the cheapest ($0.307/h) is above maxPricePerHour ($0.25).',
        ),
      },
      own: { team: 'speech' },
    }),
    instance('speech', 'loading-llama', {
      status: {
        ...machine(12, 'A100 SXM4', '1.140'),
        ...{
          phase: 'Loading',
          actualStatus: 'loading',
          actualStatusSince: time(-240),
          progressAt: time(-30),
        },
        runningAt: undefined,
        conditions: waiting('Loading'),
      },
      own: { team: 'speech' },
    }),
    instance('speech', 'silent-host', {
      status: {
        ...machine(13, 'RTX 4090', '0.395'),
        ...{ phase: 'Lost', actualStatus: 'offline', actualStatusSince: time(-18) },
        conditions: waiting('HostOffline'),
      },
      own: { team: 'speech' },
    }),
    instance('research', 'ablation-17', {
      status: {
        ...machine(15, 'H100 SXM', '2.310'),
        phase: 'Failed',
        conditions: [
          condition('Ready', 'False', 'LimitReached'),
          condition('Stalled', 'True', 'LimitReached'),
        ],
      },
      spec: { maxTotalCost: '25' },
      own: { team: 'research' },
    }),
    instance('research', 'weekend-disk', {
      spec: { powerState: 'Stopped' },
      status: {
        ...machine(16, 'RTX 4090', '0.011'),
        ...{ phase: 'Stopped', actualStatus: 'stopped' },
        conditions: [condition('Ready', 'True', 'Stopped')],
      },
      own: { team: 'research' },
    }),
    instance('research', 'old-probe', { status: machine(18, 'RTX 3060', '0.071'), deleted: true }),
    instance('research', 'just-applied', {}),
    worker('chat-7gk2p', 21, { [annotations.desiredRole]: 'Hot' }),
    worker('chat-x9d4q', 22, { [annotations.desiredRole]: 'Hot' }),
    groupObject(
      { maxWorkers: 8 },
      {
        metadata: { name: 'chat', namespace: 'serving', uid: 'serving-chat', labels: { team: 'serving' } },
        status: {
          ...{ phase: 'Ready', replicas: 2, ready: 2, total: 2, cold: 0, pricePerHour: '1.24' },
          ...{ endpoint: 'chat.serving.svc:8000', utilizationPercent: 71 },
          conditions: [condition('Ready', 'True', 'Ready')],
        },
      },
    ),
    groupObject(
      {},
      {
        metadata: { name: 'embeddings', namespace: 'serving', uid: 'serving-embeddings' },
        status: { phase: 'Zero', replicas: 0, conditions: [condition('Ready', 'True', 'ScaledToZero')] },
      },
    ),
    accountObject('default', {
      ...{ credit: '41.50', runway: '8h12m', pricePerHour: '5.058' },
      login: { url: 'https://console.vast.ai', userId: '401', provenAt: time(-90_000) },
      conditions: [condition('Ready', 'True', 'Ready')],
    }),
  ];
}
