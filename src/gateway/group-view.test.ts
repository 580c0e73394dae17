import { expect, test } from 'vitest';
import { API_VERSION, labels } from '../api/v1alpha1/names.ts';
import {
  blockedOf,
  type GatewayGroup,
  groupOfSlice,
  keptGroup,
  keptSlice,
  settingsOf,
  workersOf,
} from './group-view.ts';

const GATEWAY = {
  enabled: true,
  hold: '90s',
  maxHeld: 5,
  work: 'Requests',
  routing: 'LeastWait',
  link: 'Plain',
} as const;

function group(spec: Record<string, unknown> = {}, conditions: readonly object[] = []): GatewayGroup {
  const ports = [
    { containerPort: 53, protocol: 'UDP' },
    { name: 'http', containerPort: 8000, protocol: 'TCP' },
    { containerPort: 9000, protocol: 'TCP' },
  ];
  return keptGroup({
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'EndpointGroup',
    metadata: { namespace: 'default', name: 'llm', annotations: { note: 'long' } },
    spec: {
      ...{ gateway: GATEWAY, maxQueueTime: '30s', expectedPerf: '2.5', ...spec },
      template: { spec: { image: 'example/worker:1', ports } },
    },
    status: { conditions },
  } as never);
}

const OWNER = (name: string) => ({
  apiVersion: API_VERSION,
  kind: 'GpuInstance',
  name,
  uid: 'u',
  controller: true,
});

function slice(worker: string, ready: boolean, address = '203.0.113.7', annotations = {}) {
  return keptSlice({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: 'default',
      name: `${worker}-endpoint`,
      labels: { [labels.endpointGroup]: 'llm', other: 'label' },
      annotations: { note: 'other', ...annotations },
      ownerReferences: [OWNER(worker)],
    },
    endpoints: [{ addresses: [address], conditions: { ready } }],
    ports: [
      { name: 'http', port: 40_001 },
      { name: 'tcp-9000', port: 40_002 },
    ],
  } as never);
}

const same = { allowPrivate: false, mapAddress: (address: string) => address };

test('reads how a group is served, and no group without an enabled gateway', () => {
  expect(settingsOf(group())).toEqual({
    ...{ namespace: 'default', name: 'llm', holdMs: 90_000, maxHeld: 5, maxQueueTimeMs: 30_000 },
    ...{ expectedPerf: 2.5, work: 'Requests', routing: 'LeastWait', link: 'Plain', keysSecret: undefined },
    ...{ maxHeldBytes: 200 * 2 ** 20, retries: 'Idempotent', trustedCallers: [], cors: undefined },
    quietPaths: ['/health', '/healthz', '/livez', '/readyz', '/ping', '/metrics'],
  });
  expect(settingsOf(group({ gateway: { ...GATEWAY, enabled: false } }))).toBeUndefined();
  expect(settingsOf(group({ gateway: undefined }))).toBeUndefined();
});

test('keeps nothing of a group and a slice that is not read', () => {
  expect(JSON.stringify(group())).not.toMatch(/example\/worker|note/);
  expect(JSON.stringify(slice('w1', true))).not.toContain('other');
  expect(groupOfSlice(slice('w1', true))).toBe('default/llm');
});

test.each([
  [undefined, 40_001],
  ['http', 40_001],
  [8000, 40_001],
  [9000, 40_002],
])('leads to port %s of the worker by its public number', (port, number) => {
  const found = workersOf(group({ gateway: { ...GATEWAY, port } }), [slice('w1', true)], same);
  expect(found).toEqual([{ name: 'w1', address: `203.0.113.7:${number}`, ready: true }]);
});

test('orders workers by name, dials them as it is set, and knows which only finish', () => {
  const slices = [slice('w2', false, '2001:db8::7'), slice('w1', true)];
  const mapAddress = (address: string) => (address === '203.0.113.7' ? '127.0.0.1' : address);
  expect(workersOf(group(), slices, { ...same, mapAddress })).toEqual([
    { name: 'w1', address: '127.0.0.1:40001', ready: true },
    { name: 'w2', address: '[2001:db8::7]:40001', ready: false },
  ]);
});

test('knows what a worker costs where the operator has written it', () => {
  const priced = slice('w1', true, undefined, { 'gpurental.dev/price-per-hour': '0.45' });
  expect(workersOf(group(), [priced, slice('w2', true)], same)).toMatchObject([
    { name: 'w1', pricePerHour: 450_000 },
    { name: 'w2', pricePerHour: undefined },
  ]);
});

test('leaves a worker without the port of the gateway out', () => {
  expect(workersOf(group({ gateway: { ...GATEWAY, port: 7777 } }), [slice('w1', true)], same)).toEqual([]);
});

test.each([
  ['WorkersBlocked', 'True', true],
  ['WorkersBlocked', 'False', false],
  ['WorkersBlocked', 'Unknown', false],
  ['AtSpendCeiling', 'True', false],
  ['Stalled', 'True', false],
])('takes the condition %s %s as blocked: %s', (type, status, isBlocked) => {
  const condition = { type, status, reason: 'NoOffers', message: 'why' };
  const found = blockedOf(group({}, [condition]));
  expect(found).toEqual(isBlocked ? { reason: 'NoOffers', message: 'why' } : undefined);
});

test('keeps of the conditions only the one that is read', () => {
  const read = { type: 'WorkersBlocked', status: 'True', reason: 'NoOffers', message: 'why' };
  const other = { type: 'Ready', status: 'False', reason: 'Scaling', message: 'one more' };
  expect(group({}, [other, read]).status?.conditions).toEqual([read]);
});

test('A10: follows a slice only if a GpuInstance owns it and a machine may have its address', () => {
  const own = slice('w1', true);
  const owned = (owner: object | undefined) =>
    ({ ...own, metadata: { ...own.metadata, ownerReferences: owner && [owner] } }) as never;
  const forged = [
    owned(undefined),
    owned({ ...OWNER('w1'), controller: false }),
    owned({ ...OWNER('w1'), kind: 'Pod' }),
    owned({ ...OWNER('w1'), apiVersion: 'example.dev/v1' }),
    ...['127.0.0.1', '10.96.0.1', '169.254.169.254', '::ffff:203.0.113.7', 'fd00::1', 'metadata'].map(
      (address) => slice('w1', true, address),
    ),
  ];
  expect(forged.flatMap((one) => workersOf(group(), [one], same))).toEqual([]);
  const inside = { ...same, allowPrivate: true };
  expect(workersOf(group(), [slice('w1', true, '10.0.0.7'), own], inside)).toHaveLength(2);
});
