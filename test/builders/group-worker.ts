import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../src/api/v1alpha1/endpoint-group-spec.ts';
import { type GpuInstance, gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import type { Worker } from '../../src/controllers/endpoint-group/workers/worker.ts';

const BORN = Date.parse('2026-11-20T11:00:00Z');

/** Returns a group whose workers report their load, with one port. */
export function groupObject(
  spec: Record<string, unknown> = {},
  more: {
    readonly status?: EndpointGroup['status'];
    readonly metadata?: Partial<EndpointGroup['metadata']>;
  } = {},
): EndpointGroup {
  return {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: {
      name: 'llm',
      namespace: 'team',
      uid: 'uid-llm',
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: new Date(BORN).toISOString(),
      ...more.metadata,
    },
    spec: endpointGroupSpec.parse({
      coldWorkers: 0,
      coldMultiplier: '1',
      expectedPerf: '100',
      template: {
        spec: {
          image: 'example/worker:1',
          offers: [{ maxPricePerHour: '0.60' }],
          ports: [{ name: 'http', containerPort: 8000 }],
        },
      },
      ...spec,
    }),
    ...(more.status && { status: more.status }),
  };
}

/** Returns the object of a running, ready worker with a public address and a mapped port. */
export function workerObject(
  name: string,
  more: {
    readonly spec?: Record<string, unknown>;
    readonly status?: GpuInstance['status'];
    readonly annotations?: Record<string, string>;
    readonly metadata?: Partial<GpuInstance['metadata']>;
  } = {},
): GpuInstance {
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: {
      name,
      namespace: 'team',
      uid: `uid-${name}`,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: new Date(BORN).toISOString(),
      annotations: more.annotations ?? {},
      ...more.metadata,
    },
    spec: gpuInstanceSpec.parse({
      image: 'example/worker:1',
      offers: [{ maxPricePerHour: '0.60' }],
      ports: [{ name: 'http', containerPort: 8000 }],
      ...more.spec,
    }),
    status: more.status ?? READY,
  };
}

const READY: GpuInstance['status'] = {
  observedGeneration: 1,
  instanceId: '7',
  hostId: '70',
  actualStatus: 'running',
  publicAddress: '203.0.113.7',
  ports: [{ containerPort: 8000, protocol: 'TCP', publicPort: 20007, name: 'http' }],
  conditions: [condition('Ready', 'True', '2026-11-20T11:10:00Z')],
};

export function condition(type: string, status: 'True' | 'False', lastTransitionTime: string) {
  return { type, status, reason: 'Test', message: '', lastTransitionTime, observedGeneration: 1 };
}

/** The machine of a worker of another template was rented by another request. */
const OTHER_REQUEST = { ...READY, specHash: 'v2:0000000000000000' };

/** Returns a hot worker that serves. */
export function groupWorker(overrides: Partial<Worker> = {}): Worker {
  const name = overrides.name ?? 'w';
  return {
    name,
    object: workerObject(name, overrides.templateHash === undefined ? {} : { status: OTHER_REQUEST }),
    uid: `uid-${name}`,
    reporter: `uid-${name}/7`,
    desiredRole: 'Hot',
    powerState: 'Running',
    isDeleting: false,
    isServing: true,
    isUp: true,
    isStopped: false,
    isRented: true,
    wasEverReady: true,
    hasRun: true,
    isOverdue: false,
    isStalled: false,
    hasEnded: false,
    isOnHold: false,
    isMarked: false,
    createdAt: BORN,
    readySince: BORN,
    unreadySince: undefined,
    drainSince: undefined,
    wokenAt: undefined,
    ranSinceWoken: true,
    wakeSince: overrides.wokenAt,
    templateHash: undefined,
    gpu: '1xRTX 4090',
    pricePerHour: 400_000,
    coldPricePerHour: 5_000,
    ...overrides,
  };
}
