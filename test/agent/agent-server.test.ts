import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION, annotations, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import { AgentServer } from '../../src/cli/agent/agent-server.ts';
import { sleep, systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { parseDollars } from '../../src/lib/money.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { type Transport, TransportError } from '../../src/lib/transport.ts';
import { createKubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { definitions } from '../builders/memory-cluster.ts';
import { noCredentials } from '../builders/no-credentials.ts';
import { createMemoryKube, type MemoryKube } from '../simulation/memory-kube/memory-kube.ts';

/* The server over an API server in memory: what several servers do at once, and what is left if one of them dies. */

const NAMESPACE = 'agents';
const RUN = { image: 'x:1', onStart: 'true', maxPrice: '1', maxCost: '4', maxLifetime: '1h' };

function newCluster(): MemoryKube {
  const memory = createMemoryKube({ clock: systemClock, random: seededRandom(1), definitions });
  const kind = memory.kind('namespaces');
  memory.writes.create({ kind, namespace: undefined, name: NAMESPACE }, { metadata: { name: NAMESPACE } });
  return memory;
}

interface ServerSketch {
  readonly agent?: string;
  readonly any?: boolean;
  readonly maxTotal?: string;
  readonly maxMachines?: number;
  /** Milliseconds by which its clock is ahead. */
  readonly aheadMs?: number;
  /** Delays and deaths of its requests. */
  readonly through?: (transport: Transport) => Transport;
}

function kubeOf(transport: Transport) {
  return createKubeClient({
    ...{ transport, origin: 'https://memory', credentials: noCredentials, codec: statusCodec },
    ...{ clock: systemClock, random: seededRandom(2), log: silentLogger },
  });
}

function serverTo(memory: MemoryKube, sketch: ServerSketch = {}): AgentServer {
  const {
    agent = 'agent',
    any = false,
    maxTotal = '100',
    maxMachines = 10,
    aheadMs = 0,
    through = (same) => same,
  } = sketch;
  const cluster = {
    kube: kubeOf(through(memory.transport)),
    ...{ origin: 'https://memory', namespace: NAMESPACE, namedNamespace: NAMESPACE, scope: NAMESPACE },
    ...{
      credentials: noCredentials,
      operatorNamespace: 'operator',
      get: () => Promise.reject(new Error('unused')),
    },
  };
  const stream = new PassThrough();
  return new AgentServer({
    cluster,
    settings: {
      agent,
      any,
      logAddress: undefined,
      limits: { maxTotal: parseDollars(maxTotal) ?? 0, maxMachines },
    },
    input: { args: [], options: {} },
    context: {
      ...{ stdin: stream, stdout: stream, stderr: stream, env: {} },
      signal: new AbortController().signal,
    },
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    random: seededRandom(3),
  });
}

async function admittedOf(memory: MemoryKube): Promise<readonly GpuInstance[]> {
  const { items } = await kubeOf(memory.transport).list<GpuInstance>(gpuInstanceResource, {
    namespace: NAMESPACE,
  });
  return items.filter(({ spec }) => !spec.paused);
}

async function createForeign(memory: MemoryKube, name: string, more: object = {}): Promise<void> {
  const { metadata, spec } = { metadata: {}, spec: {}, ...more };
  await kubeOf(memory.transport).create(gpuInstanceResource, {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { namespace: NAMESPACE, name, ...metadata },
    spec: { image: 'x:1', onStart: 'true', offers: [{ maxPricePerHour: '1' }], ...spec },
  } as KubeObject);
}

describe('run', () => {
  test('creates one object for repeated and parallel calls with one key', async () => {
    const memory = newCluster();
    const server = serverTo(memory);
    const call = { ...RUN, idempotencyKey: 'one' };
    const answers = await Promise.all([
      server.call('run', call),
      server.call('run', call),
      server.call('run', call),
    ]);
    expect(answers.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect(await admittedOf(memory)).toHaveLength(1);
    expect(await server.call('run', { ...call, maxCost: '5' })).toMatchObject({
      ok: false,
      reason: 'KeyInUse',
    });
  });

  test('refuses more than --max-total, names the figures and the next call', async () => {
    const server = serverTo(newCluster(), { maxTotal: '6' });
    await server.call('run', { ...RUN, idempotencyKey: 'one' });
    const refused = await server.call('run', { ...RUN, idempotencyKey: 'two' });
    expect(refused).toEqual({
      ok: false,
      reason: 'AtServerLimit',
      message:
        'Left to promise: $2.00 of $6.00 (--max-total). maxCost is $4.00. Give a lower maxCost, stop a machine, or ask a person to raise the limit.',
      retryable: false,
      nextAction: { tool: 'cost', arguments: {} },
      costNow: { perHour: '0.00', total: '0.00', budgetLeft: '2.00' },
    });
    expect(await server.call('cost', {})).toMatchObject({ ok: true });
  });

  test('continues the object that a server left behind when it died', async () => {
    const memory = newCluster();
    const dying = serverTo(memory, {
      through: (transport) => (request) =>
        request.method === 'PATCH' ? new Promise(() => {}) : transport(request),
    });
    void dying.call('run', { ...RUN, idempotencyKey: 'one' });
    await sleep(systemClock, 50);
    expect(await admittedOf(memory)).toHaveLength(0);
    const server = serverTo(memory);
    expect(await server.call('run', { ...RUN, idempotencyKey: 'one' })).toMatchObject({ ok: true });
    expect(await admittedOf(memory)).toHaveLength(1);
  });

  test.for(Array.from({ length: 12 }, (_, seed) => seed))(
    'keeps both limits when three servers race and die at any request, seed %i',
    async (seed) => {
      const memory = newCluster();
      const random = seededRandom(seed);
      const through = (transport: Transport): Transport => {
        const life = Math.floor(5 + random.next() * 120);
        let sent = 0;
        return async (request) => {
          await sleep(systemClock, random.next() * 4);
          sent += 1;
          if (sent > life) throw new TransportError('killed', { sent: false });
          const response = await transport(request);
          // Killed between the effect and its answer.
          if (sent === life) throw new TransportError('killed', { sent: true });
          return response;
        };
      };
      const limits = { maxTotal: '13', maxMachines: seed % 2 === 0 ? 2 : 10 };
      const servers = [0, 1, 2].map(() => serverTo(memory, { ...limits, through }));
      const calls = Array.from({ length: 9 }, async (_, at) =>
        servers[at % 3]?.call('run', { ...RUN, idempotencyKey: `job-${at % 6}` }),
      );
      await Promise.all(calls);
      const admitted = await admittedOf(memory);
      expect(admitted.length).toBeLessThanOrEqual(limits.maxMachines === 2 ? 2 : 3);
    },
  );

  test('gives the last room to one of two servers that race for it', async () => {
    const memory = newCluster();
    const servers = [0, 1].map(() => serverTo(memory, { maxMachines: 1 }));
    const answers = await Promise.all(
      servers.map((server, at) => server.call('run', { ...RUN, idempotencyKey: `job-${at}` })),
    );
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await admittedOf(memory)).toHaveLength(1);
  });
});

describe('plan', () => {
  test('refuses a key that names an object, and shows only an own one', async () => {
    const memory = newCluster();
    await createForeign(memory, 'theirs');
    const server = serverTo(memory);
    await server.call('run', { ...RUN, idempotencyKey: 'one' });
    expect(await server.call('plan', { ...RUN, idempotencyKey: 'one' })).toMatchObject({
      ...{ ok: false, reason: 'KeyInUse' },
      nextAction: { tool: 'status', arguments: { name: 'one' } },
    });
    expect(await server.call('plan', { ...RUN, idempotencyKey: 'theirs' })).toMatchObject({
      ...{ ok: false, reason: 'KeyInUse', nextAction: null },
    });
  });
});

describe('stop', () => {
  test('ends own objects only, and with --any those of others that nothing keeps', async () => {
    const memory = newCluster();
    await createForeign(memory, 'theirs');
    await createForeign(memory, 'other-agent', { metadata: { labels: { 'gpurental.dev/agent': 'other' } } });
    await createForeign(memory, 'kept', { spec: { deletionPolicy: 'Retain' } });
    await createForeign(memory, 'worker', {
      metadata: {
        labels: { 'gpurental.dev/agent': 'agent' },
        ownerReferences: [{ apiVersion: API_VERSION, kind: 'EndpointGroup', name: 'g', uid: 'u' }],
      },
    });
    const [server, any] = [serverTo(memory), serverTo(memory, { any: true })];
    for (const name of ['theirs', 'other-agent', 'kept', 'worker', 'missing'])
      expect(await server.call('stop', { name })).toMatchObject({ ok: false, reason: 'NotFound' });
    expect(await any.call('stop', { name: 'theirs' })).toMatchObject({ ok: true, reason: 'Ending' });
    for (const name of ['kept', 'worker'])
      expect(await any.call('stop', { name })).toMatchObject({ ok: false, reason: 'Kept' });
    const read = kubeOf(memory.transport);
    const theirs = await read.get<GpuInstance>(gpuInstanceResource, { namespace: NAMESPACE, name: 'theirs' });
    expect(theirs?.spec.maxTotalCost).toBe('0');
  });

  test('cancels a job', async () => {
    const memory = newCluster();
    const server = serverTo(memory);
    await server.call('job', { ...RUN, idempotencyKey: 'job' });
    expect(await server.call('stop', { name: 'job' })).toMatchObject({ ok: true, reason: 'Ending' });
    const [job] = await admittedOf(memory);
    expect(job?.spec).toMatchObject({ completion: { backoffLimit: 0 }, maxTotalCost: '0' });
    expect(job?.metadata.annotations).toHaveProperty([annotations.cancelAt]);
  });

  test('cancels a job at once when its clock is an hour ahead', async () => {
    const memory = newCluster();
    await serverTo(memory).call('job', { ...RUN, idempotencyKey: 'job' });
    const ahead = serverTo(memory, { aheadMs: 3_600_000 });
    expect(await ahead.call('stop', { name: 'job' })).toMatchObject({ ok: true, reason: 'Ending' });
    const [job] = await admittedOf(memory);
    const { [annotations.cancelAt]: at = '' } = job?.metadata.annotations ?? {};
    expect(Date.parse(at)).toBeLessThanOrEqual(systemClock.now());
  });
});

describe('refusals', () => {
  test.for([
    ['kubectl', {}, 'UnknownTool'],
    ['__proto__', {}, 'UnknownTool'],
    ['run', { ...RUN }, 'InvalidArguments'],
    ['status', { name: '../x' }, 'InvalidArguments'],
    ['status', 'text', 'InvalidArguments'],
    ['status', { name: 'absent' }, 'NotFound'],
    ['logs', { name: 'absent' }, 'NotFound'],
  ] as const)('%s %j is refused with its reason', async ([tool, given, reason]) => {
    expect(await serverTo(newCluster()).call(tool, given)).toMatchObject({ ok: false, reason });
  });

  test('an API server that does not answer is retryable, with unknown money', async () => {
    const server = serverTo(newCluster(), {
      through: () => () => Promise.reject(new TransportError('away', { sent: false })),
    });
    expect(await server.call('stop', { name: 'x' })).toMatchObject({
      ...{ ok: false, reason: 'ClusterUnreachable', retryable: true },
      costNow: { perHour: null, total: null, budgetLeft: null },
    });
  });
});
