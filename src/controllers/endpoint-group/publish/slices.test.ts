import { describe, expect, test } from 'vitest';
import {
  groupInDefault,
  NAMESPACE,
  publisherBench,
  workerInDefault,
} from '../../../../test/builders/group-publisher.ts';
import { refusedBy } from '../../../../test/builders/memory-cluster.ts';
import { annotations, labels } from '../../../api/v1alpha1/names.ts';
import { type EndpointSliceObject, endpointSliceResource } from '../../../runtime/kube/core-resources.ts';
import { endpointsOf } from './endpoints.ts';

const group = groupInDefault();
const [a, b] = [workerInDefault('a'), workerInDefault('b')];
const sliceOfA = { namespace: NAMESPACE, name: 'a-endpoint' };
const foreign: EndpointSliceObject = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { ...sliceOfA, labels: { [labels.endpointGroup]: 'llm' } },
  addressType: 'IPv4',
  endpoints: [],
  ports: [],
};

function namingBench() {
  const bench = publisherBench();
  const names = async () => (await bench.slices()).map(({ metadata }) => metadata.name);
  return { ...bench, names };
}

describe('the price of a worker', () => {
  const behindGateway = groupInDefault({ gateway: {} });
  const at = (pricePerHour: number | undefined) => [{ ...a, pricePerHour }];
  const priceIn = ([slice]: readonly EndpointSliceObject[]) =>
    slice?.metadata.annotations?.[annotations.pricePerHour];

  test('is on its slice behind a gateway, and written only when it changes', async () => {
    const { publish, slices, requests, clock } = publisherBench();
    await publish(behindGateway, at(400_000));
    expect(priceIn(await slices())).toBe('0.40');
    requests();
    await publish(behindGateway, at(400_000));
    expect(requests()).toEqual([]);
    await clock.advance(600_000);
    await publish(behindGateway, at(400_000));
    expect(requests().filter((line) => !line.startsWith('GET'))).toEqual([]);
    await publish(behindGateway, at(450_000));
    expect(priceIn(await slices())).toBe('0.45');
  });

  test('is left out without a gateway or while it is unknown', async () => {
    const { publish, slices } = publisherBench();
    await publish(group, at(400_000));
    expect(priceIn(await slices())).toBeUndefined();
    await publish(behindGateway, at(undefined));
    expect(priceIn(await slices())).toBeUndefined();
  });
});

describe('a worker that left its group', () => {
  /** Returns a bench with a slice for each of the two workers. */
  async function published() {
    const bench = namingBench();
    await bench.publish(group, [a, b]);
    bench.requests();
    /** Moves the worker and its slice to another group. */
    const takeOver = () => {
      const other = groupInDefault({}, { metadata: { name: 'other', uid: 'uid-other' } });
      const { endpoints } = endpointsOf(other, [a], { allowPrivate: false });
      return bench.another().publish({ group: other, workers: [a], endpoints });
    };
    const replace = async () => {
      await bench.kube.delete(endpointSliceResource, sliceOfA);
      await bench.kube.create(endpointSliceResource, foreign);
    };
    return { ...bench, takeOver, replace };
  }

  test('loses its slice after one read', async () => {
    const { publish, names, requests } = await published();
    await publish(group, [b]);
    expect(requests()).toEqual(['GET endpointslices/a-endpoint', 'DELETE endpointslices/a-endpoint']);
    expect(await names()).toEqual(['b-endpoint']);
    requests();
    await publish(group, [b]);
    expect(requests()).toEqual([]);
  });

  test('causes no request when its slice was deleted before', async () => {
    const { publish, requests } = await published();
    await publish(group, [a, b], ['a']);
    requests();
    await publish(group, [b]);
    expect(requests()).toEqual([]);
  });

  test('is forgotten when its slice was deleted with it', async () => {
    const { publish, requests, kube } = await published();
    await kube.delete(endpointSliceResource, sliceOfA);
    requests();
    await publish(group, [b]);
    expect(requests()).toEqual(['GET endpointslices/a-endpoint']);
    await publish(group, [b]);
    expect(requests()).toEqual([]);
  });

  test('keeps the slice of its next group', async () => {
    const { publish, names, takeOver } = await published();
    await takeOver();
    await publish(group, [b]);
    expect(await names()).toEqual(['a-endpoint', 'b-endpoint']);
  });

  test.each(['takeOver', 'replace'] as const)(
    'keeps a slice that gets another owner at the same time: %s',
    async (how) => {
      const { publish, names, justBefore, requests, ...bench } = await published();
      justBefore('DELETE', bench[how]);
      await publish(group, [b]);
      expect(await names()).toEqual(['a-endpoint', 'b-endpoint']);
      await publish(group, [b]);
      requests();
      await publish(group, [b]);
      expect(requests()).toEqual([]);
      expect(await names()).toEqual(['a-endpoint', 'b-endpoint']);
    },
  );

  test('keeps a slice of another client that replaced it', async () => {
    const { publish, names, replace } = await published();
    await replace();
    await publish(group, [b]);
    expect(await names()).toEqual(['a-endpoint', 'b-endpoint']);
  });

  test('loses its slice after a person removed the label of the group', async () => {
    const { publish, names, kube } = await published();
    const body = { metadata: { labels: { [labels.endpointGroup]: null } } };
    await kube.patch(endpointSliceResource, sliceOfA, { type: 'merge', body });
    await publish(group, [b]);
    expect(await names()).toEqual(['b-endpoint']);
  });

  test('keeps a slice of another client without the label of the group', async () => {
    const { publish, names, kube } = await published();
    await kube.delete(endpointSliceResource, sliceOfA);
    await kube.create(endpointSliceResource, { ...foreign, metadata: sliceOfA });
    await publish(group, [b]);
    expect(await names()).toEqual(['a-endpoint', 'b-endpoint']);
  });

  test('loses a slice that another process of the operator created again', async () => {
    const { publish, another, names, kube } = await published();
    await kube.delete(endpointSliceResource, sliceOfA);
    await another().publish({ group, workers: [a], ...endpointsOf(group, [a], { allowPrivate: false }) });
    await publish(group, [b]);
    expect(await names()).toEqual(['b-endpoint']);
  });

  test('loses a slice whose write had no answer', async () => {
    const { publish, names, answer, memory } = namingBench();
    answer((request) =>
      request.method === 'POST' && request.path.includes('endpointslices')
        ? memory.transport(request).then(() => refusedBy(504, 'Timeout'))
        : undefined,
    );
    await expect(publish(group, [a])).rejects.toThrow('answered 504');
    answer(() => undefined);
    expect(await names()).toEqual(['a-endpoint']);
    await publish(group, []);
    expect(await names()).toEqual([]);
  });

  test('loses its slice at the next reconcile after the API server failed', async () => {
    const { publish, names, answer } = await published();
    answer(({ method }) => (method === 'DELETE' ? refusedBy(500, 'InternalError') : undefined));
    await expect(publish(group, [b])).rejects.toThrow('answered 500');
    answer(() => undefined);
    await publish(group, [b]);
    expect(await names()).toEqual(['b-endpoint']);
  });
});

describe('a worker that drains behind a gateway', () => {
  const gateway = groupInDefault({ gateway: {} });
  const leaving = { ...a, desiredRole: 'Gone', drainSince: 1 } as const;

  test('is terminating in its slice, and ready again when it is desired again', async () => {
    const { publish, slices, requests } = publisherBench();
    const conditions = async () => (await slices()).map(({ endpoints }) => endpoints[0]?.conditions);
    await publish(gateway, [a]);
    expect(await conditions()).toEqual([{ ready: true }]);
    await publish(gateway, [leaving]);
    expect(await conditions()).toEqual([{ ready: false, serving: true, terminating: true }]);
    requests();
    await publish(gateway, [leaving]);
    expect(requests()).toEqual([]);
    await publish(gateway, [a]);
    expect(await conditions()).toEqual([{ ready: true }]);
  });

  test('is written again when a person marks it ready', async () => {
    const { publish, another, slices, kube } = publisherBench();
    await publish(gateway, [leaving]);
    const [slice] = await slices();
    const endpoints = [{ addresses: slice?.endpoints[0]?.addresses, conditions: { ready: true } }];
    await kube.patch(endpointSliceResource, sliceOfA, { type: 'merge', body: { endpoints } });
    const of = endpointsOf(gateway, [leaving], { allowPrivate: false });
    await another().publish({ group: gateway, workers: [leaving], endpoints: of.endpoints });
    expect((await slices())[0]?.endpoints[0]?.conditions).toMatchObject({ ready: false, terminating: true });
  });
});
