import { expect, test } from 'vitest';
import { marketplaceAccountResource } from '../../src/api/v1alpha1/names.ts';
import { eventResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { conditionOf, reached, rents, running, useSharedBench } from './gpu-instance-bench.ts';

const shared = useSharedBench();

test('P5: a suspended account rents and starts nothing, keeps what runs, and goes on when it is resumed', async () => {
  const bench = shared();
  await running(bench, 'runs');
  const account = { namespace: bench.namespace, name: 'default' };
  const suspend = (isSuspended: boolean) =>
    bench.kube.patch(marketplaceAccountResource, account, {
      type: 'merge',
      body: { spec: { suspend: isSuspended } },
    });
  await suspend(true);
  await bench.createInstance('waits');
  const waits = await reached(bench, 'waits', 'Suspended');
  expect(conditionOf(waits, 'Ready')?.message).toContain('gpu-rent resume account NAME');
  expect(rents(bench)).toHaveLength(1);
  expect(conditionOf(await reached(bench, 'runs', 'Ready'), 'Ready')?.status).toBe('True');
  const told = await bench.kube.get<KubeObject & { status?: { conditions?: readonly { type: string }[] } }>(
    marketplaceAccountResource,
    account,
  );
  expect(told?.status?.conditions?.map(({ type }) => type)).toContain('Suspended');
  await suspend(false);
  await reached(bench, 'waits', 'Ready');
  expect(rents(bench)).toHaveLength(2);
});

test('P14: the API server refuses lastTimestamp in our events, so documents name kubectl events', async () => {
  const bench = shared();
  const event = (more: object) => ({
    ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event' },
    metadata: { namespace: bench.namespace, name: `order-${Object.keys(more).length}` },
    ...{ eventTime: new Date().toISOString().replace('Z', '000Z'), type: 'Normal' },
    ...{ reason: 'Tried', action: 'Trying', note: 'x' },
    ...{ reportingController: 'gpurental.dev/test', reportingInstance: 'test' },
    regarding: { kind: 'GpuInstance', namespace: bench.namespace, name: 'x' },
    ...more,
  });
  await bench.kube.create(eventResource, event({}));
  const deprecatedLastTimestamp = new Date().toISOString();
  await expect(bench.kube.create(eventResource, event({ deprecatedLastTimestamp }))).rejects.toThrow(
    /lastTimestamp.*needs to be unset/,
  );
});

interface SeenEvent extends KubeObject {
  readonly reason?: string;
  readonly note?: string;
  readonly regarding?: { readonly kind?: string; readonly name?: string };
}

test('P3: an outage is one event at its start and one at its end, on the account and on an object that waits', async () => {
  const bench = shared();
  await bench.fault('5xx', { endpoint: 'list', count: 6 });
  const eventsOn = async (name: string) => {
    const { items } = await bench.kube.list<SeenEvent>(eventResource, { namespace: bench.namespace });
    return items
      .filter(({ regarding, reason }) => regarding?.name === name && OUTAGE_REASONS.has(reason ?? ''))
      .map(({ reason, note }) => `${reason}: ${note?.replace(/\d+s/, 'Ns')}`);
  };
  const both = (waits: string) => [
    `Unreachable: Marketplace returned HTTP 503 for Ns; retrying.${waits}`,
    'ServiceRestored: Service restored after Ns. Cause: Marketplace returned HTTP 503.',
  ];
  const sorted = async (name: string) => (await eventsOn(name)).toSorted().toReversed();
  await expect.poll(() => eventsOn('default'), { timeout: 40_000, interval: 200 }).toHaveLength(1);
  await bench.createInstance('during');
  await expect.poll(() => sorted('default'), { timeout: 40_000, interval: 500 }).toEqual(both(''));
  await expect
    .poll(() => sorted('during'), { timeout: 40_000, interval: 500 })
    .toEqual(both(' This object waits for it.'));
  await reached(bench, 'during', 'Ready');
});

const OUTAGE_REASONS = new Set(['Unreachable', 'ServiceRestored']);
