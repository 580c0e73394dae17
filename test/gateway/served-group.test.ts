import { expect, test } from 'vitest';
import { callerKeys } from '../../src/gateway/caller-keys.ts';
import type { GroupSettings } from '../../src/gateway/group-view.ts';
import type { ReadHeader } from '../../src/gateway/request-notes.ts';
import { ServedGroup } from '../../src/gateway/served-group.ts';
import { createGatewayMetrics } from '../../src/server/gateway-metrics.ts';
import { createMetricRegistry } from '../../src/server/metric-registry.ts';
import { createVirtualClock } from '../builders/virtual-clock.ts';

const settings: GroupSettings = {
  ...{ namespace: 'default', name: 'llm', work: 'Requests', link: 'Plain', keysSecret: undefined },
  routing: 'LeastWait',
  ...{ retries: 'Idempotent', trustedCallers: [], quietPaths: ['/health'], cors: undefined },
  ...{ maxHeldPerClient: undefined, maxHeldBytes: 1_000_000 },
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

function served(changed: Partial<GroupSettings> = {}) {
  const own = { ...settings, ...changed };
  const clock = createVirtualClock();
  const metrics = createGatewayMetrics(createMetricRegistry());
  let wakes = 0;
  const wake = () => void wakes++;
  const group = new ServedGroup({ key: 'default/llm', settings: own, clock, metrics, wake, trustedHops: 0 });
  group.setAccess({ type: 'open' });
  let requests = 0;
  const ask = (headers: readonly (readonly [ReadHeader, string])[] = []) => {
    const { signal: left } = new AbortController();
    const head = { headers: new Map(headers), contentLength: 0, left, readBody };
    return group.answer({ id: String(requests++), head, path: '/' });
  };
  const operatorWrites = (starts: boolean, workers = [] as (typeof worker)[]) =>
    group.update(own, workers, { blocked: undefined, starts });
  return { group, clock, ask, operatorWrites, wakes: () => wakes };
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

test.each([
  ['0', 'batch', 0.01],
  ['2.5', 'batch', 2.5],
  ['2.5', 'other', 1],
  ['9999999999', 'batch', 1e9],
  ['-1', 'batch', 1],
  [undefined, 'batch', 1],
])('A7: counts the work header %s of caller %s as %d', async (header, caller, work) => {
  const { group, ask } = served({ work: 'Header', trustedCallers: ['batch'] });
  group.setAccess({ type: 'keys', keys: { isUsable: true, unusable: [], callerOf: () => caller } });
  void ask(header === undefined ? [] : [['x-gpurental-work', header]]);
  await Promise.resolve();
  expect(group.report()).toMatchObject({ arrivedWork: work, keys: { state: 'Read' } });
});

test('A7: believes no caller without a key, except where all are trusted', async () => {
  for (const [trustedCallers, work] of [
    [[], 1],
    [[''], 1],
    [['*'], 7],
  ] as const) {
    const { group, ask } = served({ work: 'Header', trustedCallers });
    void ask([['x-gpurental-work', '7']]);
    await Promise.resolve();
    expect(group.report().arrivedWork).toBe(work);
  }
});

test('A5: limits each address on its own when callers have no keys', async () => {
  const { group, ask } = served({ maxHeldPerClient: 1 });
  void ask([['x-forwarded-for', '198.51.100.1, 203.0.113.5']]);
  void ask([['x-forwarded-for', '198.51.100.2, 203.0.113.6']]);
  const refused = await ask([['x-forwarded-for', '198.51.100.3, 203.0.113.5']]);
  expect(refused).toMatchObject({ type: 'reply', status: 503 });
  expect(group.figures().heldRequests).toBe(2);
});

test('B09: names the form of a key in the answer to a wrong one', async () => {
  const { group, ask } = served();
  const keys = (data: Record<string, string>) => callerKeys(new Map(Object.entries(data)));
  group.setAccess({ type: 'keys', keys: keys({ alice: 'plain' }) });
  const unusable = await ask([['authorization', 'Bearer plain']]);
  expect(unusable).toMatchObject({ status: 401, body: expect.stringMatching(/No key can call.*sha256sum/) });
  expect(group.report().keys).toEqual({ state: 'Unusable', unusable: ['alice'] });
  group.setAccess({ type: 'keys', keys: keys({ alice: 'a'.repeat(64) }) });
  const wrong = await ask([['authorization', 'Bearer plain']]);
  expect(wrong).toMatchObject({ status: 401, body: expect.stringMatching(/may not call.*sha256sum/) });
});
