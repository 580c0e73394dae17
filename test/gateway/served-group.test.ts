import { expect, test } from 'vitest';
import type { GroupSettings } from '../../src/gateway/group-view.ts';
import { ServedGroup } from '../../src/gateway/served-group.ts';
import { createGatewayMetrics } from '../../src/server/gateway-metrics.ts';
import { createMetricRegistry } from '../../src/server/metric-registry.ts';
import { createVirtualClock } from '../builders/virtual-clock.ts';

const settings: GroupSettings = {
  ...{ namespace: 'default', name: 'llm', work: 'Requests', link: 'Plain', keysSecret: undefined },
  routing: 'LeastWait',
  ...{ holdMs: 600_000, maxHeld: 10, maxQueueTimeMs: 30_000, expectedPerf: undefined },
};
const worker = {
  name: 'a',
  address: '127.0.0.1:1',
  dnsName: undefined,
  ready: true,
  pricePerHour: undefined,
};

const readBody = async () => ({ bytes: new Uint8Array(), isWhole: true, contentLength: 0 });

function served() {
  const clock = createVirtualClock();
  const metrics = createGatewayMetrics(createMetricRegistry());
  let wakes = 0;
  const group = new ServedGroup({ key: 'default/llm', settings, clock, metrics, wake: () => void wakes++ });
  group.setAccess({ type: 'open' });
  let requests = 0;
  const ask = () => {
    const { signal: left } = new AbortController();
    const head = { headers: new Map(), left, readBody };
    return group.answer({ id: String(requests++), head, path: '/' });
  };
  const operatorWrites = (starts: boolean, workers = [] as (typeof worker)[]) =>
    group.update(settings, workers, { blocked: undefined, starts });
  return { clock, ask, operatorWrites, wakes: () => wakes };
}

test('does not wake again while a worker starts', async () => {
  const { clock, ask, operatorWrites, wakes } = served();
  void ask();
  await clock.settle();
  operatorWrites(true);
  await clock.advance(300_000);
  expect(wakes()).toBe(1);
  operatorWrites(false);
  await clock.advance(30_000);
  expect(wakes()).toBe(2);
});

test('wakes for the next requests although a worker starts', async () => {
  const { clock, ask, operatorWrites, wakes } = served();
  const first = ask();
  await clock.settle();
  operatorWrites(false, [worker]);
  expect(await first).toMatchObject({ type: 'route' });
  operatorWrites(true);
  void ask();
  await clock.settle();
  expect(wakes()).toBe(2);
});
