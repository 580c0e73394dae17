import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Desk, desk } from './desk.ts';
import { type AskedCluster, refused } from './scripted-cluster.ts';

/* Objects that `gpu-rent run` creates and deletes, when its log cannot be read, and when an object is created again. */

let here: Desk;
let folder: string;
beforeEach(async () => {
  here = await desk();
  here.account('default');
  folder = mkdtempSync(join(tmpdir(), 'run-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await here.close();
});

const PATH = '/apis/gpurental.dev/v1alpha1/namespaces/team/gpuinstances';
const RUN = ['run', '--image', 'u', '--max-price', '2', '--name', 'train', '--yes'] as const;
const LOG_URL = ['--log-url', 'https://logs.test'] as const;

const isCreation = ({ method, path, query }: AskedCluster) =>
  method === 'POST' && path === PATH && !query.includes('dryRun=All');
const creations = () => here.cluster.asked.filter(isCreation);
const uidNow = async (): Promise<unknown> => {
  const asked = { method: 'GET', path: `${PATH}/train`, query: '', headers: {}, body: undefined };
  const { status, body } = await here.stored(asked);
  return status === 200 ? Object(Object(body).metadata).uid : undefined;
};

/** Answers as the stored cluster does. A watch ends at once, because replies here are whole. */
const answered = (asked: AskedCluster) =>
  asked.query.includes('watch=') ? { status: 200, body: undefined } : here.stored(asked);

/** Returns the path of a kubeconfig of a user without a bearer token. */
function withoutToken(): string {
  const file = join(folder, 'kubeconfig');
  const name = 'plain';
  const kubeconfig = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster: { server: here.cluster.url } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: 'team' } }],
  };
  writeFileSync(file, JSON.stringify(kubeconfig));
  return file;
}

describe('run -- true with --log-url', () => {
  test.each<[string, () => readonly string[], string]>([
    [
      'the kubeconfig has no bearer token',
      () => ['--kubeconfig', withoutToken()],
      '--log-service-account NAME',
    ],
    ['--log-ca cannot be read', () => ['--log-ca', join(folder, 'missing.crt')], 'missing.crt'],
  ])('creates nothing when %s', async (_, options, text) => {
    const line = [...RUN, ...LOG_URL, ...options(), '--rm', '--', 'true'];
    const { exitCode, stderr } = await here.cluster.cli.run(line);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(text)]);
    expect(creations()).toEqual([]);
  });

  const tokens = (fails: (before: number) => boolean) => {
    let count = 0;
    here.cluster.answer = (asked) => {
      if (!asked.path.endsWith('/token')) return answered(asked);
      count += 1;
      return fails(count) ? refused(403, 'Forbidden') : { status: 201, body: { status: { token: 'none' } } };
    };
    return ['--log-service-account', 'reader'];
  };

  test('names how to follow and end it when its log cannot be read after its creation', async () => {
    const options = tokens((count) => count > 1);
    const { exitCode, stderr } = await here.cluster.cli.run([...RUN, ...LOG_URL, ...options, '--', 'true']);
    expect([exitCode, creations().length]).toEqual([1, 1]);
    expect(stderr).toContain('End it and its bill: kubectl delete gpui train -n team');
    expect(await uidNow()).toBeDefined();
  });

  test('deletes it with --rm when its log cannot be read after its creation', async () => {
    const options = tokens((count) => count > 1);
    const line = [...RUN, ...LOG_URL, ...options, '--rm', '--', 'true'];
    const { exitCode, stderr } = await here.cluster.cli.run(line);
    expect([exitCode, creations().length]).toEqual([1, 1]);
    expect(stderr).toContain('gpui/train is deleted');
    expect(await uidNow()).toBeUndefined();
  });
});

test('run --rm leaves an object alone that another person created under its name', async () => {
  let other: string | undefined;
  here.cluster.answer = async (asked) => {
    const isList = asked.method === 'GET' && asked.path === PATH && creations().length > 0;
    if (isList && other === undefined) {
      other = '';
      await here.stored({ ...asked, ...{ method: 'DELETE', path: `${PATH}/train`, query: '' } });
      other = here.put('gpuinstances', { metadata: { name: 'train' }, spec: { image: 'theirs' } });
    }
    return answered(asked);
  };
  const { exitCode, stderr } = await here.cluster.cli.run([...RUN, '--rm', '--', 'true']);
  expect([exitCode, stderr]).toEqual([143, expect.stringContaining('was deleted before its run ended')]);
  expect(stderr).not.toContain('gpui/train is deleted');
  expect(await uidNow()).toBe(other);
});
