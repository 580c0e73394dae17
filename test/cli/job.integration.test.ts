import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { annotations, gpuInstanceResource, labels } from '../../src/api/v1alpha1/names.ts';
import { Interrupted } from '../../src/cli/command-error.ts';
import { runLabel, runName } from '../../src/cli/job/run-name.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import { until } from '../builders/until.ts';
import { openWidgetClient } from '../builders/widgets.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { installDefinitions } from '../crds/install.ts';
import { type CommandLine, commandLine, type Ran } from './command-line.ts';

/*
 * `gpu-rent job` with its own permissions against a real API server, whose garbage collector works. No operator runs:
 * the test reports the end of a run.
 */

const cluster: ClusterAccess = sharedCluster();
const { client, close } = openWidgetClient(cluster);
const kube: KubeClient = client;
let namespace = '';
let cli: CommandLine;
const COMMAND = ['--image', 'ubuntu:24.04', '--max-price', '0.60', '--', 'true'] as const;

beforeAll(async () => {
  await installDefinitions(cluster.admin);
  namespace = await cluster.createNamespace('jobs');
  const folder = join(REPOSITORY, 'deploy/components/job-relay');
  await cluster.kubectl(['apply', '-n', namespace, '-f', join(folder, 'rbac.yaml')]);
  const serviceAccount = { namespace, name: 'gpu-rent-job' };
  const { kubeconfigPath } = await cluster.kubeconfigFor({ serviceAccount });
  cli = commandLine({ KUBECONFIG: kubeconfigPath });
});
afterAll(async () => {
  cli.leave();
  await close();
  await cluster.admin.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
  await cluster.disconnect();
});

interface RunningRelay {
  readonly ended: Promise<Ran>;
  terminate(): void;
}

const running: RunningRelay[] = [];
afterEach(async () => {
  for (const { terminate, ended } of running.splice(0)) {
    terminate();
    await ended;
  }
});

/** Starts a relay as the container of a Pod does. */
function relayOf(pod: string): RunningRelay {
  const abort = new AbortController();
  const ended = cli.run(['-n', namespace, 'job', ...COMMAND], {
    env: { POD_NAME: pod },
    signal: abort.signal,
  });
  const relay = { ended, terminate: () => abort.abort(new Interrupted(143)) };
  running.push(relay);
  return relay;
}

const apply = (object: object): Promise<string> =>
  cluster.kubectl(['apply', '--server-side', '-n', namespace, '-f', '-'], { stdin: JSON.stringify(object) });

const template = {
  spec: { restartPolicy: 'Never', containers: [{ name: 'gpu', image: 'registry.example/relay:1' }] },
};

/** Creates a Job and Pods of it, as its controller does. */
async function createJob(name: string, pods: readonly string[]): Promise<void> {
  await apply({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { template } });
  const uid = await cluster.kubectl(['get', 'job', name, '-n', namespace, '-o', 'jsonpath={.metadata.uid}']);
  const controller = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true };
  for (const pod of pods)
    await apply({
      ...{ apiVersion: 'v1', kind: 'Pod', spec: template.spec },
      metadata: { name: pod, ownerReferences: [controller] },
    });
}

async function objectsOf(job: string): Promise<readonly GpuInstance[]> {
  const { items } = await kube.list<GpuInstance>(gpuInstanceResource, { namespace });
  return items.filter(({ metadata }) => metadata.ownerReferences?.some(({ name }) => name === job));
}

const objectOf = (job: string): Promise<GpuInstance> =>
  until(`${job} has a GpuInstance`, async () => (await objectsOf(job))[0]);

/** Reports the end of a run, as the operator does. */
async function finish({ metadata }: GpuInstance, exitCode: number): Promise<void> {
  const condition = {
    ...{ type: 'Succeeded', status: exitCode === 0 ? 'True' : 'False' },
    ...{ reason: exitCode === 0 ? 'Completed' : 'BackoffLimit', message: 'The program ended.' },
    lastTransitionTime: '2026-11-20T12:41:00Z',
  };
  const status = { observedGeneration: 1, conditions: [condition], run: { exitCode, attempts: 1 } };
  await cluster.kubectl([
    ...['patch', 'gpui', metadata.name, '-n', namespace, '--subresource', 'status', '--type', 'merge'],
    ...['-p', JSON.stringify({ status })],
  ]);
}

const MANIFEST = {
  ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance', metadata: { name: 'run' } },
  spec: { image: 'ubuntu:24.04', command: ['true'], offers: [{ maxPricePerHour: '0.60' }] },
};

const lastLine = ({ stderr }: Ran): unknown => JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '');

describe('gpu-rent job', () => {
  test('creates one GpuInstance when four relays of one Job start at once', async () => {
    const pods = ['race-a', 'race-b', 'race-c', 'race-d'];
    await createJob('race', pods);
    const relays = pods.map(relayOf);
    await finish(await objectOf('race'), 0);
    const ends = await Promise.all(relays.map(({ ended }) => ended));
    expect(ends.map(({ exitCode, stderr }) => (exitCode === 0 ? 0 : stderr))).toEqual([0, 0, 0, 0]);
    const created = await objectsOf('race');
    expect(created).toHaveLength(1);
    expect(ends.map(lastLine)).toEqual(
      Array.from(ends, () => expect.objectContaining({ gpuJob: created[0]?.metadata.name, exitCode: 0 })),
    );
  });

  test('leaves the machine running after an eviction, and the next Pod attaches to it', async () => {
    await createJob('evicted', ['evicted-a', 'evicted-b']);
    const first = relayOf('evicted-a');
    const { metadata } = await objectOf('evicted');
    first.terminate();
    expect((await first.ended).exitCode).toBe(75);
    const next = relayOf('evicted-b');
    await finish(await objectOf('evicted'), 3);
    const end = await next.ended;
    expect(end.exitCode).toBe(3);
    expect(end.stderr).toContain(`Attached to gpui/${metadata.name}.`);
    const [object, ...others] = await objectsOf('evicted');
    expect(others).toEqual([]);
    expect(object?.metadata.uid).toBe(metadata.uid);
    expect(object?.metadata.annotations).not.toHaveProperty([annotations.cancelAt]);
  });

  test('cancels nothing after SIGTERM while it may not read its Job', async () => {
    await createJob('unknown', ['unknown-a']);
    const relay = relayOf('unknown-a');
    await objectOf('unknown');
    const role = ['role', 'gpu-rent-job', '-n', namespace];
    const rules = await cluster.kubectl(['get', ...role, '-o', 'jsonpath={.rules}']);
    const withRules = (text: string) =>
      cluster.kubectl(['patch', ...role, '--type', 'merge', '-p', `{"rules":${text}}`]);
    const fewer = JSON.parse(rules).filter(
      ({ resources }: { resources: string[] }) => resources[0] !== 'jobs',
    );
    await withRules(JSON.stringify(fewer));
    try {
      // The API server applies a changed Role with a delay.
      const canRead = ['auth', 'can-i', 'get', 'jobs', '-n', namespace, '-q'];
      const as = `--as=system:serviceaccount:${namespace}:gpu-rent-job`;
      await until('the permission is gone', () =>
        cluster.kubectl([...canRead, as]).then(
          () => false,
          () => true,
        ),
      );
      await cluster.kubectl(['delete', 'pod', 'unknown-a', '-n', namespace, '--wait=false']);
      relay.terminate();
      expect((await relay.ended).exitCode).toBe(75);
      const [object] = await objectsOf('unknown');
      expect(object?.metadata.annotations).not.toHaveProperty([annotations.cancelAt]);
      expect(object?.metadata.deletionTimestamp).toBeUndefined();
    } finally {
      await withRules(rules);
    }
  });

  test('cancels the run after SIGTERM when its Job is suspended', async () => {
    await createJob('suspended', ['suspended-a']);
    const relay = relayOf('suspended-a');
    await objectOf('suspended');
    await cluster.kubectl([
      ...['patch', 'job', 'suspended', '-n', namespace],
      ...['--type', 'merge', '-p', '{"spec":{"suspend":true}}'],
    ]);
    relay.terminate();
    expect((await relay.ended).exitCode).toBe(143);
    expect((await objectOf('suspended')).metadata.annotations).toHaveProperty([annotations.cancelAt]);
  });

  test('is deleted with its Job, and the relay does not succeed', async () => {
    await createJob('deleted', ['deleted-a']);
    const relay = relayOf('deleted-a');
    await objectOf('deleted');
    await cluster.kubectl(['delete', 'job', 'deleted', '-n', namespace, '--wait=false']);
    expect((await relay.ended).exitCode).toBe(143);
    expect(await objectsOf('deleted')).toEqual([]);
  });

  test('is refused without a price limit, and creates nothing', async () => {
    await createJob('unlimited', ['unlimited-a']);
    const { exitCode, stderr } = await cli.run(
      ['-n', namespace, 'job', '--image', 'ubuntu:24.04', '--', 'true'],
      { env: { POD_NAME: 'unlimited-a' } },
    );
    expect(exitCode).toBe(126);
    expect(stderr).toContain('"reason":"NoPriceLimit"');
    expect(await objectsOf('unlimited')).toEqual([]);
  });

  test('is refused when a copy of its GpuInstance has another owner, and leaves that one alone', async () => {
    await createJob('copied', ['copied-a']);
    await createJob('copier', []);
    const uidOf = (job: string) =>
      cluster.kubectl(['get', 'job', job, '-n', namespace, '-o', 'jsonpath={.metadata.uid}']);
    const [uid, other] = [await uidOf('copied'), await uidOf('copier')];
    const key = { ownerUid: uid, index: undefined };
    await apply({
      ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance' },
      metadata: {
        name: runName(key, 0),
        labels: { [labels.jobRun]: runLabel(key) },
        annotations: { [annotations.jobTry]: '0' },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'copier', uid: other }],
      },
      spec: {
        ...{ image: 'ubuntu:24.04', command: ['true'], completion: {} },
        offers: [{ maxPricePerHour: '0.60' }],
      },
    });
    const { exitCode, stderr } = await relayOf('copied-a').ended;
    expect(exitCode).toBe(126);
    expect(stderr).toContain('"reason":"NameTaken"');
    const [copy] = await objectsOf('copier');
    expect(copy?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('is refused in a Pod that restarts its program after every end', async () => {
    await apply({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'always' } },
      spec: { ...template.spec, restartPolicy: 'Always' },
    });
    const { exitCode, stderr } = await relayOf('always').ended;
    expect(exitCode).toBe(126);
    expect(stderr).toContain('restartPolicy');
  });

  test('exits 143 when its GpuInstance is deleted under it, and rents nothing more', async () => {
    await createJob('removed', ['removed-a']);
    const relay = relayOf('removed-a');
    const { metadata } = await objectOf('removed');
    await cluster.kubectl(['delete', 'gpui', metadata.name, '-n', namespace]);
    expect((await relay.ended).exitCode).toBe(143);
    expect(await objectsOf('removed')).toEqual([]);
  });

  test.each([
    ['spec.imagee', { ...MANIFEST.spec, imagee: 'ubuntu' }],
    ['spec.offers.0.maxPricePerHour', { ...MANIFEST.spec, offers: [{ maxPricePerHour: 'cheap' }] }],
    ['spec.completion.backoffLimit', { ...MANIFEST.spec, completion: { backoffLimit: -1 } }],
  ])('is refused by the name of the field when a mounted file has a wrong %s', async (field, spec) => {
    await createJob('wrong', ['wrong-a']);
    const folder = mkdtempSync(join(tmpdir(), 'job-'));
    try {
      const file = join(folder, 'gpu-instance.json');
      writeFileSync(file, JSON.stringify({ ...MANIFEST, spec }));
      const { exitCode, stderr } = await cli.run(['-n', namespace, 'job', '-f', file], {
        env: { POD_NAME: 'wrong-a' },
      });
      expect(stderr).toContain(field);
      expect(exitCode).toBe(126);
      expect(await objectsOf('wrong')).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('examples/jobs', () => {
  test.each(['job.yaml', 'cron-job.yaml', 'indexed-job.yaml'])('%s is valid', async (file) => {
    const strict = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-n', namespace];
    await cluster.kubectl([...strict, '-f', join(REPOSITORY, 'examples/jobs', file)]);
  });
});
