import { afterEach, describe, expect, test } from 'vitest';
import { memoryCluster } from '../../test/builders/memory-cluster.ts';
import { given } from '../../test/builders/observed.ts';
import { accountWith, LOGIN } from '../../test/builders/observed-account.ts';
import type { JsonObject } from '../../test/simulation/memory-kube/json.ts';
import { parseConfig, type RawOptions } from '../config.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { type Transport, TransportError } from '../lib/transport.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { noCredentials } from '../runtime/kube/credentials.ts';
import { createMetricRegistry } from '../server/metric-registry.ts';
import { createRentalMetrics } from '../server/rental-metrics.ts';
import { createRuntimeMetrics } from '../server/runtime-metrics.ts';
import { type OperatorOptions, type Wiring, wire } from './wiring.ts';

let wired: Wiring | undefined;
afterEach(() => wired?.caches.instances.stop());

/** What the controllers share under these flags, in a cluster with the namespaces `red` and `blue`. */
function wiringOf(flags: RawOptions, options: Pick<OperatorOptions, 'leaseTransport' | 'pod'> = {}) {
  const { memory, clock } = memoryCluster();
  const registry = createMetricRegistry();
  const wiring = wire({
    config: parseConfig(flags, {}),
    env: {
      clock,
      random: seededRandom(1),
      log: silentLogger,
      kube: memory.transport,
      marketplace: () => Promise.reject(new Error('nothing is asked of the marketplace')),
    },
    kubeOrigin: 'https://memory',
    credentials: noCredentials,
    processName: 'process',
    metrics: createRuntimeMetrics(registry),
    rentalMetrics: createRentalMetrics(registry),
    prober: async () => undefined,
    ...options,
  });
  wired = wiring;
  for (const name of ['red', 'blue', 'gpu-rental-system']) {
    const address = { kind: memory.kind('namespaces'), namespace: undefined, name };
    memory.writes.create(address, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  return { wiring, memory, clock };
}

/** The objects that count for an account of `red` which any namespace may use, where each of both has one. */
async function countedUnder(flags: RawOptions): Promise<readonly string[]> {
  const { wiring, memory, clock } = wiringOf(flags);
  const { spec } = given({ spec: { accountRef: { name: 'default', namespace: 'red' } } }).object;
  for (const namespace of ['red', 'blue']) {
    const object = {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'GpuInstance',
      metadata: { name: 'job' },
      spec,
    };
    const address = { kind: memory.kind('gpuinstances'), namespace, name: 'job' };
    memory.writes.create(address, JSON.parse(JSON.stringify(object)) as JsonObject);
  }
  await wiring.installation.resolve();
  wiring.caches.instances.start();
  await clock.advance(1_000);
  const account = accountWith({
    metadata: { namespace: 'red' },
    spec: { allowedNamespaces: { from: 'All' } },
  });
  return wiring.registry
    .objectsOf(account)
    .map(({ key }) => key)
    .toSorted();
}

describe('each timing flag reaches the constants', () => {
  test.each([
    ['lateCall', 'lateCallMs'],
    ['listLag', 'listLagMs'],
    ['goneSpacing', 'goneSpacingMs'],
    ['orphanAge', 'orphanAgeMs'],
  ] as const)('%s', (flag, name) => {
    expect(wiringOf({ [flag]: '77s' }).wiring.constants).toEqual({ ...defaultConstants, [name]: 77_000 });
  });
});

describe('an account that any namespace may use', () => {
  test('is used from all of them where all are watched', async () => {
    expect(await countedUnder({})).toEqual(['blue/job', 'red/job']);
  });

  test('is used from its own alone where namespaces are named: labels of others cannot be read', async () => {
    expect(await countedUnder({ watchNamespace: ['red', 'blue'] })).toEqual(['red/job']);
  });
});

test('without an election there is none; with one it is for the lease of the operator’s own namespace', () => {
  expect(wiringOf({ leaderElect: 'false' }).wiring.election).toBeUndefined();
  expect(wiringOf({}).wiring.election?.leaseRemainingMs()).toBe(0);
});

test('the lease is asked for by connections of its own, where there are some', async () => {
  const asked: string[] = [];
  const leaseTransport: Transport = async ({ path }) => {
    asked.push(path);
    throw new TransportError('no answer', { sent: false });
  };
  const { wiring, clock } = wiringOf({}, { leaseTransport });
  const waiting = new AbortController();
  const acquired = wiring.election?.acquire(waiting.signal).catch(() => 'given up');
  await clock.advance(1_000);
  waiting.abort(new Error('enough'));
  expect(await acquired).toBe('given up');
  expect(asked[0]).toContain('/namespaces/gpu-rental-system/leases/');
});

describe('the lease', () => {
  const kindOf = (memory: ReturnType<typeof wiringOf>['memory']) => ({
    kind: memory.kind('leases'),
    namespace: 'gpu-rental-system',
    name: 'gpu-rental-operator',
  });

  test('is held for as long as the flag says', async () => {
    const { wiring, memory, clock } = wiringOf({ leaderElectLeaseDuration: '60s' });
    const acquired = wiring.election?.acquire();
    await clock.advance(1_000);
    await acquired;
    expect(memory.writes.read(kindOf(memory))).toMatchObject({ spec: { leaseDurationSeconds: 60 } });
    expect(wiring.election?.leaseRemainingMs()).toBeGreaterThan(50_000);
    await Promise.all([wiring.election?.release(), clock.advance(1_000)]);
  });

  test.each([
    ['a former process of this very pod is taken over at once', 'pod-a_uid_before', true],
    ['a process of another pod is not', 'pod-b_uid_before', false],
    ['a process of a pod whose name only begins alike is not', 'pod-a_uid2_before', false],
  ])('of %s', async (_, holderIdentity, leads) => {
    const { wiring, memory, clock } = wiringOf({}, { pod: 'pod-a_uid' });
    const renewTime = '2026-11-20T12:00:00.000000Z';
    const spec = { holderIdentity, leaseDurationSeconds: 15, acquireTime: renewTime, renewTime };
    const metadata = { name: 'gpu-rental-operator' };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    memory.writes.create(kindOf(memory), lease);
    const waiting = new AbortController();
    const acquired = wiring.election?.acquire(waiting.signal).catch(() => {});
    await clock.advance(2_000);
    expect((wiring.election?.leaseRemainingMs() ?? 0) > 0).toBe(leads);
    waiting.abort(new Error('enough'));
    await acquired;
    await Promise.all([wiring.election?.release(), clock.advance(1_000)]);
  });
});

test('no account is polled more often than the flag allows', () => {
  const { wiring } = wiringOf({ minPollInterval: '7s' });
  const session = wiring.registry.connect(accountWith({ spec: { pollInterval: '1s' } }), {
    login: LOGIN,
    key: new Secret('key'),
    use: 'full',
    user: { credit: undefined, sshKeyRegistered: undefined, mayTearDown: true },
  });
  expect(session.pollIntervalMs()).toBe(7_000);
  wiring.connections.closeAll();
});
