import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import {
  API_VERSION,
  annotations,
  gpuInstanceResource,
  MACHINE_FINALIZER,
} from '../../src/api/v1alpha1/names.ts';
import {
  endpointSliceResource,
  secretResource,
  serviceResource,
} from '../../src/runtime/kube/core-resources.ts';
import { until } from '../builders/until.ts';
import {
  conditionOf,
  destroys,
  patchInstance,
  reached,
  rents,
  running,
  useSharedBench,
} from './gpu-instance-bench.ts';

const shared = useSharedBench({ account: { orphanPolicy: 'Destroy' } });

const lists = () => shared().callsTo('GET', /\/instances\/$/).length;
const bills = (id: string | undefined) =>
  shared()
    .billing()
    .some((contract) => String(contract.id) === id);

async function severalLists(): Promise<void> {
  const before = lists();
  await until('several lists', () => lists() >= before + 4);
}

/** Adds a foreign machine like the given one, as if a person had created it in the console. */
function strangersMachine(like: string | undefined): string {
  const { store } = shared().simulator;
  const contract = shared().simulator.world().tables.contracts[Number(like)];
  if (!contract) throw new Error(`there is no contract ${like}`);
  const id = store.nextId('contract');
  store.put('contracts', { ...contract, id, label: null });
  return String(id);
}

test('scenario 46: an object that is deleted and created again while no operator runs: the old machine goes, the new object gets its own', async () => {
  const bench = shared();
  const before = await running(bench, 'twice');
  await bench.stop();
  await patchInstance(bench, { metadata: { finalizers: null } }, 'twice');
  await bench.kube.delete(gpuInstanceResource, { namespace: bench.namespace, name: 'twice' });
  await bench.createInstance('twice');
  await bench.start();
  const after = await reached(bench, 'twice', 'Ready');
  expect(after.metadata.uid).not.toBe(before.metadata.uid);
  expect(after.status?.instanceId).not.toBe(before.status?.instanceId);
  await until('the old machine is gone', () => !bills(before.status?.instanceId));
  expect(bills(after.status?.instanceId)).toBe(true);
});

test('scenario 71: a machine that a person wrote into the status is not believed, and the true one is found again', async () => {
  const bench = shared();
  const { status } = await running(bench, 'forged');
  const foreign = strangersMachine(status?.instanceId);
  const seen = { rents: rents(bench).length, destroys: destroys(bench).length };
  const ref = { namespace: bench.namespace, name: 'forged' };
  const lie = { status: { machine: { id: foreign } } };
  await bench.kube.patch(gpuInstanceResource, ref, { type: 'merge', body: lie, subresource: 'status' });
  await until(
    'the status is mended',
    async () => (await bench.instance('forged'))?.status?.instanceId === status?.instanceId,
  );
  await severalLists();
  expect(bills(foreign)).toBe(true);
  expect(bills(status?.instanceId)).toBe(true);
  expect({ rents: rents(bench).length, destroys: destroys(bench).length }).toEqual(seen);
});

describe('scenario 76: an intent of another version', () => {
  const later = JSON.stringify({ v: 9, uid: 'x', wanted: 'something that this version cannot know' });

  test('keeps a new object from being rented for, and is left as it is', async () => {
    const bench = shared();
    const seen = rents(bench).length;
    await bench.kube.create<GpuInstance>(gpuInstanceResource, {
      apiVersion: API_VERSION,
      kind: 'GpuInstance',
      metadata: {
        namespace: bench.namespace,
        name: 'from-later',
        annotations: { [annotations.rentalIntent]: later },
      },
      spec: { image: 'example/image:1', offers: [{ maxPricePerHour: '100' }] },
    } as never);
    const told = await until('it is told', async () => {
      const object = await bench.instance('from-later');
      return conditionOf(object, 'Stalled')?.reason === 'RecordUnreadable' ? object : undefined;
    });
    await severalLists();
    expect(rents(bench)).toHaveLength(seen);
    expect(told.metadata.annotations?.[annotations.rentalIntent]).toBe(later);
  });

  test('leaves the machine of a running object alone, and with the old one it goes on', async () => {
    const bench = shared();
    const before = await running(bench, 'upgraded');
    const ours = before.metadata.annotations?.[annotations.rentalIntent];
    const seen = { rents: rents(bench).length, destroys: destroys(bench).length };
    const put = (intent: string | undefined) =>
      patchInstance(bench, { metadata: { annotations: { [annotations.rentalIntent]: intent } } }, 'upgraded');
    await bench.stop();
    await put(later);
    await bench.start();
    await until(
      'it is told',
      async () => conditionOf(await bench.instance('upgraded'), 'Stalled')?.reason === 'RecordUnreadable',
    );
    await severalLists();
    await put(ours);
    const after = await reached(bench, 'upgraded', 'Ready');
    expect(after.status).toMatchObject({ instanceId: before.status?.instanceId, attempt: 1 });
    expect(bills(before.status?.instanceId)).toBe(true);
    expect({ rents: rents(bench).length, destroys: destroys(bench).length }).toEqual(seen);
  });
});

test('scenario 72: what a pipeline applies and what we write belong to different field managers, and neither fights', async () => {
  const bench = shared();
  const apply = (image: string) =>
    bench.cluster.kubectl(['apply', '--server-side', '--field-manager=pipeline', '-f', '-'], {
      stdin: JSON.stringify({
        apiVersion: API_VERSION,
        kind: 'GpuInstance',
        metadata: { namespace: bench.namespace, name: 'applied', labels: { team: 'a' } },
        spec: {
          image,
          offers: [{ maxPricePerHour: '100' }],
          service: { enabled: false },
          updateStrategy: { type: 'OnDelete' },
        },
      }),
    });
  await apply('example/image:1');
  const rented = await reached(bench, 'applied', 'Ready');
  await apply('example/image:2');
  await until(
    'the operator has seen it',
    async () => (await bench.instance('applied'))?.status?.observedGeneration === 2,
  );
  await apply('example/image:2');
  const ref = { namespace: bench.namespace, name: 'applied' };
  const object = await bench.kube.get<GpuInstance & { metadata: Managed }>(gpuInstanceResource, ref);
  expect(object?.spec.image).toBe('example/image:2');
  expect(object?.metadata.finalizers).toContain(MACHINE_FINALIZER);
  expect(object?.metadata.annotations?.[annotations.rentalIntent]).toBe(
    rented.metadata.annotations?.[annotations.rentalIntent],
  );
  const managers = object?.metadata.managedFields ?? [];
  const ofSpec = managers.filter(({ fieldsV1 }) => 'f:spec' in fieldsV1).map(({ manager }) => manager);
  expect(new Set(ofSpec)).toEqual(new Set(['pipeline']));
  expect(managers.map(({ manager }) => manager)).not.toEqual(ofSpec);
});

interface Managed {
  readonly managedFields?: readonly { readonly manager: string; readonly fieldsV1: object }[];
}

test('children that a person deleted are created again when their object is asked to reconcile', async () => {
  const bench = shared();
  const ports = [{ name: 'http', containerPort: 8080 }];
  await running(bench, 'parent', { ports, service: { enabled: true } });
  const { namespace } = bench;
  const children = [
    [secretResource, 'parent-connection'],
    [serviceResource, 'parent'],
    [endpointSliceResource, 'parent-direct'],
  ] as const;
  for (const [resource, name] of children) await bench.kube.delete(resource, { namespace, name });
  const at = new Date().toISOString();
  await patchInstance(bench, { metadata: { annotations: { [annotations.requestedAt]: at } } }, 'parent');
  await until('all of them are there again', async () => {
    const found = await Promise.all(
      children.map(([resource, name]) => bench.kube.get(resource, { namespace, name })),
    );
    return found.every((child) => child !== undefined);
  });
});
