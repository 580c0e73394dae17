import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type AskedCluster,
  type ClusterAnswer,
  refused,
  type ScriptedCluster,
  scriptedCluster,
} from './scripted-cluster.ts';

/* A new identity makes every machine of the old one a stranger's: it is drawn only knowingly, and in one step. */

const SECRET = '/api/v1/namespaces/gpu-rental-system/secrets/gpu-rental-operator-identity';
const encoded = (data: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  );
const stored = (data: Readonly<Record<string, string>>): ClusterAnswer => ({
  status: 200,
  body: {
    kind: 'Secret',
    metadata: {
      ...{ name: 'gpu-rental-operator-identity', namespace: 'gpu-rental-system' },
      ...{ uid: 'u1', resourceVersion: '41', labels: { team: 'gpu' } },
    },
    type: 'Opaque',
    data: encoded(data),
  },
});
const HEALTHY = stored({ installId: 'a'.repeat(32), keys: 'b'.repeat(64), scope: '*' });
const UNREADABLE = stored({ installId: 'torn', left: 'over' });
const FORBIDDEN = refused(403, 'Forbidden', 'User "ops" cannot get resource "secrets"');
const MISSING = refused(404, 'NotFound');
const DONE: ClusterAnswer = { status: 200, body: { metadata: { name: 'x', uid: 'u' } } };

let cluster: ScriptedCluster;
beforeAll(async () => {
  cluster = await scriptedCluster();
});
beforeEach(() => {
  cluster.asked.length = 0;
});
afterAll(() => cluster.close());

/** Answers the read of the Secret with `secret`, and every write with `write`. */
function holding(secret: ClusterAnswer, write = DONE): void {
  cluster.answer = ({ method, path }) => {
    if (method !== 'GET') return write;
    return path === SECRET ? secret : { status: 200, body: { metadata: { name: 'kube-system', uid: 'k' } } };
  };
}

const reset = (...more: readonly string[]) => cluster.cli.run(['reset', 'identity', '--yes', ...more]);
const writes = (): readonly AskedCluster[] => cluster.asked.filter(({ method }) => method !== 'GET');

describe.each([[[]], [['--force']]])('with %j', (more) => {
  test('an identity that may not be read is left alone, and the right to ask for is named', async () => {
    holding(FORBIDDEN);
    const { exitCode, stderr } = await reset(...more);
    expect({ exitCode, writes: writes() }).toEqual({ exitCode: 1, writes: [] });
    expect(stderr).toContain('You may not read the Secret gpu-rental-system/gpu-rental-operator-identity');
    expect(stderr).toMatch(/What to do: .*get.*secrets/);
  });

  test('one that is missing is created', async () => {
    holding(MISSING);
    expect(await reset(...more)).toMatchObject({ exitCode: 0 });
    expect(writes()).toMatchObject([{ method: 'POST', body: { stringData: { kubeSystemUid: 'k' } } }]);
  });

  test('one that holds no identity is replaced by one write, under the version that was read', async () => {
    holding(UNREADABLE);
    expect(await reset(...more)).toMatchObject({ exitCode: 0 });
    const installId = expect.stringMatching(/^[0-9a-f]{32}$/);
    expect(writes()).toMatchObject([
      {
        method: 'PUT',
        path: SECRET,
        body: {
          metadata: { uid: 'u1', resourceVersion: '41', labels: { team: 'gpu' } },
          type: 'Opaque',
          stringData: { installId, scope: '*' },
        },
      },
    ]);
    expect(writes()[0]?.body).not.toHaveProperty('data');
  });
});

test('a new one knows which namespaces the operator watches, so that it sweeps as before', async () => {
  holding(MISSING);
  expect(await reset('--watch-namespace', 'red', '--watch-namespace', 'blue')).toMatchObject({ exitCode: 0 });
  expect(writes()).toMatchObject([{ body: { stringData: { scope: 'blue,red' } } }]);
});

test('without --yes and a terminal nothing is asked of the cluster', async () => {
  holding(UNREADABLE);
  const { exitCode, stderr } = await cluster.cli.run(['reset', 'identity', '--force']);
  expect({ exitCode, asked: cluster.asked }).toEqual({ exitCode: 2, asked: [] });
  expect(stderr).toContain('Give --yes.');
});

test('one that can be read is replaced only with --force', async () => {
  holding(HEALTHY);
  expect(await reset()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--force') });
  expect(writes()).toEqual([]);
  expect(await reset('--force')).toMatchObject({ exitCode: 0 });
  expect(writes()).toMatchObject([{ method: 'PUT', body: { metadata: { resourceVersion: '41' } } }]);
});

test.each([
  ['was changed meanwhile', refused(409, 'Conflict', 'the object has been modified')],
  ['may not be written', refused(403, 'Forbidden', 'User "ops" cannot update resource "secrets"')],
])('one that %s stays as it is: nothing is deleted first', async (_, refusal) => {
  holding(UNREADABLE, refusal);
  const { exitCode, stderr } = await reset();
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('What to do: ') });
  expect(writes().map(({ method }) => method)).toEqual(['PUT']);
});

test('one that another client created meanwhile is not overwritten', async () => {
  holding(MISSING, refused(409, 'AlreadyExists', 'the secret already exists'));
  const { exitCode, stderr } = await reset();
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('What to do: ') });
});

test('nothing is written if a passing failure hides whether the cluster is a copy', async () => {
  holding(MISSING);
  const { answer } = cluster;
  cluster.answer = (asked) =>
    asked.path.endsWith('/kube-system') ? refused(500, 'InternalError', 'no leader') : answer(asked);
  expect(await reset()).toMatchObject({ exitCode: 1 });
  expect(writes()).toEqual([]);
});
