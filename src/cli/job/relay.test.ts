import { beforeEach, describe, expect, test } from 'vitest';
import { type MemoryCluster, memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import { noCredentials } from '../../../test/builders/no-credentials.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, gpuInstanceResource, labels } from '../../api/v1alpha1/names.ts';
import { statusCodec } from '../../api/v1alpha1/status-codec.ts';
import type { Clock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import type { Transport } from '../../lib/transport.ts';
import { namespaceResource } from '../../runtime/kube/core-resources.ts';
import { createKubeClient, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { controllerReference } from '../../runtime/kube/kube-object.ts';
import { Interrupted } from '../command-error.ts';
import { type FollowLog, noLog } from '../logs/run-log.ts';
import { type RelayEnd, relay } from './relay.ts';
import { runName } from './run-name.ts';
import { jobResource, type OwnerObject, podResource } from './run-owner.ts';

/* A relay against a Kubernetes API in memory. Its Pod and Job are as a test says; no operator works. */

const NAMESPACE = 'team';
const SPEC = {
  image: 'ubuntu:24.04',
  command: ['true'],
  offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.60' }],
};

let cluster: MemoryCluster;
/** Names of the first two tries of the Job. */
let first: string;
let second: string;
beforeEach(async () => {
  cluster = memoryCluster();
  const { kube } = cluster;
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await kube.create(namespaceResource, namespace);
  const job = await kube.create<OwnerObject>(jobResource, {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'train', namespace: NAMESPACE } },
  });
  const key = { ownerUid: job.metadata.uid ?? '', index: undefined };
  first = runName(key, 0);
  second = runName(key, 1);
  for (const name of ['train-a', 'train-b'])
    await kube.create(podResource, {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { name, namespace: NAMESPACE, ownerReferences: [controllerReference(job)] },
    });
});

/** Changes the Job as a user or its controller does. */
async function changeJob(change: 'deleted' | Partial<Pick<OwnerObject, 'spec' | 'status'>>): Promise<void> {
  const ref = { namespace: NAMESPACE, name: 'train' };
  if (change === 'deleted') await cluster.kube.delete(jobResource, ref);
  else await cluster.kube.patch(jobResource, ref, { type: 'merge', body: change });
}

interface Running {
  readonly ended: Promise<RelayEnd | Error>;
  readonly lines: string[];
  terminate(): void;
}

interface StartOptions {
  /** A client of its own. */
  readonly kube?: KubeClient;
  /** Milliseconds by which its clock is ahead. */
  readonly aheadMs?: number;
  readonly followLog?: FollowLog;
}

function start(
  name: string,
  spec: object = SPEC,
  { kube = cluster.kube, aheadMs = 0, followLog = noLog }: StartOptions = {},
): Running {
  const clock: Clock = { ...cluster.clock, now: () => cluster.clock.now() + aheadMs };
  const abort = new AbortController();
  const lines: string[] = [];
  const ended = relay(
    { pod: { name }, manifest: { spec: { ...spec } } },
    {
      ...{ kube, clock, random: seededRandom(7), namespace: NAMESPACE, signal: abort.signal },
      print: (line) => lines.push(line),
      followLog,
    },
  ).catch((error: Error) => error);
  return { ended, lines, terminate: () => abort.abort(new Interrupted(143)) };
}

/** Reply that never comes. */
const SILENCE = new Promise<never>(() => {});

/** Returns a client whose requests, counted from 0, are answered by a function. */
function clientThat(
  answer: (request: {
    readonly at: number;
    readonly send: () => ReturnType<Transport>;
  }) => ReturnType<Transport>,
): KubeClient {
  const { clock, memory } = cluster;
  let at = -1;
  return createKubeClient({
    transport: (request) => {
      at += 1;
      return answer({ at, send: () => memory.transport(request) });
    },
    ...{ origin: 'https://memory', credentials: noCredentials, codec: statusCodec },
    ...{ clock, random: seededRandom(4), log: silentLogger },
  });
}

const existing = async (): Promise<readonly GpuInstance[]> =>
  (await cluster.kube.list<GpuInstance>(gpuInstanceResource, { namespace: NAMESPACE })).items;

/** Reports the end of a run, as the operator does. */
async function finish(name: string, exitCode: number): Promise<void> {
  const object = await cluster.kube.get<GpuInstance>(gpuInstanceResource, { namespace: NAMESPACE, name });
  if (!object) throw new Error(`no ${name}`);
  const condition = {
    ...{ type: 'Succeeded', status: exitCode === 0 ? 'True' : 'False' },
    ...{ reason: exitCode === 0 ? 'Completed' : 'BackoffLimit', message: 'The program ended.' },
    lastTransitionTime: '2026-11-20T12:41:00Z',
  } as const;
  const status = {
    ...{ observedGeneration: 1, conditions: [condition], cost: { accrued: '0.41' } },
    run: {
      ...{ exitCode, attempts: 1 },
      ...{ startedAt: '2026-11-20T12:00:00Z', finishedAt: '2026-11-20T12:41:00Z' },
    },
  };
  await cluster.kube.replace(gpuInstanceResource, { ...object, status } as GpuInstance, {
    subresource: 'status',
  });
}

const objectNamed = async (name: string): Promise<GpuInstance | undefined> =>
  (await existing()).find((object) => object.metadata.name === name);

const annotationsOf = async (name: string): Promise<Readonly<Record<string, string>>> =>
  (await existing()).find((object) => object.metadata.name === name)?.metadata.annotations ?? {};

describe('relay', () => {
  test('creates one GpuInstance that the Job owns, and exits 0 when its run succeeded', async () => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    const [object] = await existing();
    expect(object?.metadata).toMatchObject({
      name: first,
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'train', blockOwnerDeletion: false }],
    });
    expect(object?.spec.completion).toMatchObject({ onSuccess: 'Destroy' });
    await finish(first, 0);
    await cluster.clock.advance(1_000);
    expect(await running.ended).toEqual({
      exitCode: 0,
      line: `{"gpuJob":"${first}","exitCode":0,"machines":1,"dollars":"0.41","seconds":2460}`,
    });
  });

  test('never creates two objects when two relays of one Job start at once', async () => {
    const relays = ['train-a', 'train-b'].map((name) => start(name));
    await cluster.clock.advance(10_000);
    expect((await existing()).map(({ metadata }) => metadata.name)).toEqual([first]);
    await finish(first, 0);
    await cluster.clock.advance(1_000);
    expect(await Promise.all(relays.map(({ ended }) => ended))).toMatchObject([
      { exitCode: 0 },
      { exitCode: 0 },
    ]);
  });

  test('reports a failure once, and the next Pod begins the next try and deletes the failed object', async () => {
    const failing = start('train-a');
    await cluster.clock.advance(1_000);
    await finish(first, 3);
    await cluster.clock.advance(1_000);
    expect(await failing.ended).toMatchObject({ exitCode: 3 });
    expect(await annotationsOf(first)).toMatchObject({ [annotations.jobReported]: 'train-a' });
    start('train-b');
    await cluster.clock.advance(1_000);
    expect((await existing()).map(({ metadata }) => metadata.name)).toEqual([second]);
  });

  test('attaches after an eviction, and reports a failure that no Pod has reported without renting again', async () => {
    const evicted = start('train-a');
    await cluster.clock.advance(1_000);
    evicted.terminate();
    await cluster.clock.advance(1_000);
    expect(await evicted.ended).toMatchObject({ exitCode: 75 });
    await finish(first, 3);
    const next = start('train-b');
    await cluster.clock.advance(1_000);
    expect(await next.ended).toMatchObject({ exitCode: 3 });
    expect((await existing()).map(({ metadata }) => metadata.name)).toEqual([first]);
  });

  test.each([
    ['suspended', { spec: { suspend: true } }],
    ['failed', { status: { conditions: [{ type: 'Failed', status: 'True' }] } }],
  ] as const)('cancels the run after SIGTERM when the Job is %s', async (_, change) => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    await changeJob(change);
    running.terminate();
    await cluster.clock.advance(1_000);
    expect(await running.ended).toMatchObject({ exitCode: 143 });
    expect(await annotationsOf(first)).toMatchObject({
      [annotations.cancelAt]: expect.stringMatching(/^2026-11-20T12:00:0\dZ$/),
    });
  });

  test.each([
    ['the API server does not answer', () => new Promise<never>(() => {})],
    ['the relay may not read the Job any more', () => refusedBy(403, 'Forbidden')],
    ['the Job continues', () => undefined],
  ])('cancels nothing after SIGTERM when %s', async (_, reply) => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    cluster.intercept = ({ path }) => (path.includes('/jobs/') ? reply() : undefined);
    running.terminate();
    await cluster.clock.advance(5_000);
    expect(await running.ended).toMatchObject({ exitCode: 75 });
    expect(await annotationsOf(first)).not.toHaveProperty([annotations.cancelAt]);
  });

  test('is never done while its watch ends and the API server is silent, and reports that each minute', async () => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    const { intercept } = cluster;
    cluster.intercept = () => Promise.reject(new Error('no route'));
    cluster.memory.closeWatches();
    await cluster.clock.advance(600_000);
    const notices = running.lines.filter((line) => line.includes('no answer from the API server'));
    expect(notices.length).toBeGreaterThanOrEqual(5);
    cluster.intercept = intercept;
    await finish(first, 0);
    await cluster.clock.advance(60_000);
    expect(await running.ended).toMatchObject({ exitCode: 0 });
  });

  test('reports each minute that the operator does not answer', async () => {
    const { lines } = start('train-a');
    await cluster.clock.advance(185_000);
    expect(lines.filter((line) => line.includes('no answer from the operator'))).toHaveLength(3);
  });

  test('is cancelled, and not successful, when the Job is deleted with its GpuInstance', async () => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    await changeJob('deleted');
    await cluster.clock.advance(60_000);
    expect(await existing()).toEqual([]);
    expect(await running.ended).toMatchObject({ exitCode: 143 });
  });

  test.each([
    ['NoPriceLimit', { ...SPEC, offers: [{ gpuNames: ['RTX 4090'] }] }, {}],
    ['OwnerEnded', SPEC, 'deleted'],
    ['OwnerEnded', SPEC, { spec: { suspend: true } }],
    ['JobNotIndexed', SPEC, { spec: { completions: 3 } }],
  ] as const)('is refused by %s and creates nothing', async (reason, spec, change) => {
    await changeJob(change);
    const { ended } = start('train-a', spec);
    await cluster.clock.advance(1_000);
    expect(await ended).toMatchObject({ name: 'RunRefused', reason });
    expect(await existing()).toEqual([]);
  });

  test('is refused when another object has the name', async () => {
    await cluster.kube.create(gpuInstanceResource, {
      ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance' },
      ...{ metadata: { name: first, namespace: NAMESPACE }, spec: SPEC },
    } as unknown as GpuInstance);
    const { ended } = start('train-a');
    await cluster.clock.advance(1_000);
    expect(await ended).toMatchObject({ reason: 'NameTaken' });
  });

  test('is refused when a copy of its object has another owner', async () => {
    const { uid = '' } =
      (await cluster.kube.get(jobResource, { namespace: NAMESPACE, name: 'train' }))?.metadata ?? {};
    await cluster.kube.create(gpuInstanceResource, {
      ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance', spec: SPEC },
      metadata: {
        ...{ name: first, namespace: NAMESPACE, labels: { [labels.jobRun]: uid } },
        annotations: { [annotations.jobTry]: '0' },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'other', uid: 'another-uid' }],
      },
    } as unknown as GpuInstance);
    const { ended } = start('train-a');
    await cluster.clock.advance(1_000);
    expect(await ended).toMatchObject({ reason: 'NameTaken' });
  });

  test('is refused in a Pod that restarts its program after every end', async () => {
    const ref = { namespace: NAMESPACE, name: 'train-a' };
    const body = { spec: { restartPolicy: 'Always' } };
    await cluster.kube.patch(podResource, ref, { type: 'merge', body });
    const { ended } = start('train-a');
    await cluster.clock.advance(1_000);
    expect(await ended).toMatchObject({
      reason: 'RestartsAlways',
      message: expect.stringContaining('restartPolicy'),
    });
    expect(await existing()).toEqual([]);
  });

  test.each([0, 1, 2, 3, 4])('ends within a grace period when request %i gets no reply', async (silent) => {
    const kube = clientThat(({ at, send }) => (at < silent ? send() : SILENCE));
    const running = start('train-a', SPEC, { kube });
    await cluster.clock.advance(1_000);
    running.terminate();
    await cluster.clock.advance(20_000);
    const end = await Promise.race([running.ended, Promise.resolve('still running')]);
    expect(end).toMatchObject({ exitCode: 75 });
  });

  /** Requests of a run that fails: the Pod, the Job, a list, the creation, a list, a watch, and the report. */
  const REQUESTS = [0, 1, 2, 3, 4, 5, 6];
  test.each(
    REQUESTS.flatMap((at) => [
      { last: at, when: 'before' },
      { last: at, when: 'after' },
    ]),
  )('rents once when the relay is killed $when request $last takes effect', async ({ last, when }) => {
    const kube = clientThat(({ at, send }) => {
      if (at < last) return send();
      if (at === last && when === 'after') void send();
      return SILENCE;
    });
    start('train-a', SPEC, { kube });
    await cluster.clock.advance(1_000);
    if (await objectNamed(first)) {
      await finish(first, 3);
      await cluster.clock.advance(1_000);
    }
    const next = start('train-b');
    await cluster.clock.advance(5_000);
    // A reported failure has begun the next try; any other one is reported by this Pod.
    const unfinished = (await existing()).filter(({ status }) => status?.run?.finishedAt === undefined);
    expect(unfinished.length).toBeLessThanOrEqual(1);
    for (const { metadata } of unfinished) await finish(metadata.name, 3);
    await cluster.clock.advance(5_000);
    expect(await next.ended).toMatchObject({ exitCode: 3 });
    expect(await existing()).toHaveLength(1);
  });

  test('stays refused when the refused object cannot be deleted', async () => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    cluster.intercept = ({ method }) =>
      method === 'DELETE' ? Promise.reject(new Error('no route')) : undefined;
    const object = await objectNamed(first);
    const stalled = { type: 'Stalled', status: 'True', reason: 'InvalidSpec', message: 'no such image' };
    const condition = { ...stalled, lastTransitionTime: '2026-11-20T12:41:00Z' };
    await cluster.kube.replace(
      gpuInstanceResource,
      { ...object, status: { observedGeneration: 1, conditions: [condition] } } as GpuInstance,
      { subresource: 'status' },
    );
    await cluster.clock.advance(60_000);
    expect(await running.ended).toMatchObject({ name: 'RunRefused', reason: 'InvalidSpec' });
  });

  test('cancels at once when its clock is ten minutes ahead', async () => {
    const running = start('train-a', SPEC, { aheadMs: 600_000 });
    await cluster.clock.advance(1_000);
    await changeJob({ spec: { suspend: true } });
    running.terminate();
    await cluster.clock.advance(1_000);
    expect(await running.ended).toMatchObject({ exitCode: 143 });
    const { [annotations.cancelAt]: at = '' } = await annotationsOf(first);
    expect(Date.parse(at)).toBeLessThanOrEqual(cluster.clock.now());
  });

  test('rents another machine for a Job that is resumed before its cancelled run has ended', async () => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    await changeJob({ spec: { suspend: true } });
    running.terminate();
    await cluster.clock.advance(1_000);
    expect(await running.ended).toMatchObject({ exitCode: 143 });
    await changeJob({ spec: { suspend: false } });
    const resumed = start('train-b');
    await cluster.clock.advance(10_000);
    expect(resumed.lines.join('\n')).toContain(`Waiting until gpui/${first} of the last try has ended.`);
    await finish(first, 143);
    await cluster.clock.advance(3_000);
    expect((await existing()).map(({ metadata }) => metadata.name)).toEqual([second]);
  });

  test('says what may go on billing when it cannot list the objects of a suspended Job', async () => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    await changeJob({ spec: { suspend: true } });
    cluster.intercept = ({ path }) => (path.includes('labelSelector') ? SILENCE : undefined);
    running.terminate();
    await cluster.clock.advance(12_000);
    const end = await running.ended;
    expect(end).toMatchObject({ exitCode: 143 });
    expect(end).toMatchObject({ line: expect.not.stringContaining('dollars') });
    expect(running.lines.join('\n')).toMatch(
      /If it has a machine, that keeps billing. End it: kubectl delete gpui -n/,
    );
    cluster.intercept = () => undefined;
    expect(await annotationsOf(first)).not.toHaveProperty([annotations.cancelAt]);
  });

  test('cancels the run of a suspended Job when the second list of its objects is answered', async () => {
    const running = start('train-a');
    await cluster.clock.advance(1_000);
    await changeJob({ spec: { suspend: true } });
    let lists = 0;
    cluster.intercept = ({ path }) => {
      if (!path.includes('labelSelector')) return undefined;
      lists += 1;
      return lists === 1 ? SILENCE : undefined;
    };
    running.terminate();
    await cluster.clock.advance(12_000);
    expect(await running.ended).toMatchObject({ exitCode: 143 });
    expect(await annotationsOf(first)).toHaveProperty([annotations.cancelAt]);
  });

  test('keeps its object until its owner goes, since a run that expires early would be rented again', async () => {
    start('train-a', { ...SPEC, completion: { ttlAfterFinished: '1m', backoffLimit: 2 } });
    await cluster.clock.advance(1_000);
    const [object] = await existing();
    expect(object?.spec.completion).not.toHaveProperty('ttlAfterFinished');
    expect(object?.spec.completion).toMatchObject({ backoffLimit: 2 });
  });

  test('waits while its token is not accepted, and goes on with the next one', async () => {
    cluster.intercept = () => refusedBy(401, 'Unauthorized');
    const running = start('train-a');
    await cluster.clock.advance(61_000);
    expect(running.lines.join('\n')).toContain('Waiting for the API server');
    cluster.intercept = () => undefined;
    await cluster.clock.advance(3_000);
    await finish(first, 0);
    await cluster.clock.advance(1_000);
    expect(await running.ended).toMatchObject({ exitCode: 0 });
  });

  test('leaves the report to the next Pod when it is evicted while it reads the rest of the log', async () => {
    const followLog: FollowLog = () => ({ silentSince: undefined, finish: () => SILENCE });
    const evicted = start('train-a', SPEC, { followLog });
    await cluster.clock.advance(1_000);
    await finish(first, 3);
    await cluster.clock.advance(1_000);
    evicted.terminate();
    await cluster.clock.advance(20_000);
    expect(await evicted.ended).toMatchObject({ exitCode: 75 });
    expect(evicted.lines.at(-1)).toContain(`gpui/${first} has ended`);
    const next = start('train-b');
    await cluster.clock.advance(20_000);
    expect(await next.ended).toMatchObject({ exitCode: 3 });
    expect((await existing()).map(({ metadata }) => metadata.name)).toEqual([first]);
  });

  test('is refused in a Pod whose run has another program, and reports the end of its own one again', async () => {
    await cluster.kube.create(podResource, {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'steps', namespace: NAMESPACE } },
    });
    const step = start('steps');
    await cluster.clock.advance(1_000);
    const [object] = await existing();
    await finish(object?.metadata.name ?? '', 0);
    await cluster.clock.advance(1_000);
    expect(await step.ended).toMatchObject({ exitCode: 0 });
    const next = start('steps', { ...SPEC, command: ['false'] });
    const again = start('steps');
    await cluster.clock.advance(1_000);
    expect(await next.ended).toMatchObject({ reason: 'OtherProgram' });
    expect(await again.ended).toMatchObject({ exitCode: 0 });
    expect(await existing()).toHaveLength(1);
  });

  test('attaches to the machine of its Job when a mounted file has changed since, and warns', async () => {
    const evicted = start('train-a');
    await cluster.clock.advance(1_000);
    evicted.terminate();
    await cluster.clock.advance(1_000);
    const next = start('train-b', { ...SPEC, command: ['false'] });
    await cluster.clock.advance(1_000);
    await finish(first, 0);
    await cluster.clock.advance(1_000);
    expect(await next.ended).toMatchObject({ exitCode: 0 });
    expect(next.lines.join('\n')).toContain('another program');
    expect((await existing()).map(({ metadata }) => metadata.name)).toEqual([first]);
  });
});
