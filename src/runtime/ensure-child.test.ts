import { expect, test } from 'vitest';
import { memoryCluster } from '../../test/builders/memory-cluster.ts';
import { type ChildChange, type ChildOptions, ensureChild } from './ensure-child.ts';
import { namespaceResource, secretResource } from './kube/core-resources.ts';
import type { KubeObject } from './kube/kube-object.ts';

interface Note extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const note = (text: string): Note => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'team', name: 'note', labels: { owner: 'us' } },
  data: { text },
});
const foreign: Note = { ...note('dGhlaXJz'), metadata: { ...note('').metadata, labels: {} } };

/** Returns a cluster that contains `present`, and the effects of writing the note `bmV3` to it. */
async function bench(present?: Note, options: Partial<ChildOptions<Note, Note>> = {}) {
  const cluster = memoryCluster();
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
  await cluster.kube.create(namespaceResource, namespace);
  const before = present && (await cluster.kube.create(secretResource, present));
  cluster.sent.length = 0;
  const child = note('bmV3');
  const write = () =>
    ensureChild<Note, Note>({
      client: cluster.kube,
      resource: secretResource,
      child,
      mayExist: true,
      isOwned: ({ metadata }) => metadata.labels?.['owner'] === 'us',
      change: ({ data }): ChildChange =>
        data?.['text'] === child.data?.['text']
          ? { type: 'none' }
          : { type: 'patch', body: { data: child.data } },
      ...options,
    });
  const read = () => cluster.kube.get<Note>(secretResource, { namespace: 'team', name: 'note' });
  const verbs = () => cluster.sent.splice(0).map((line) => line.split(' ')[0]);
  return { cluster, before, write, read, verbs };
}

test('creates a child that does not exist, with one request when none can', async () => {
  const first = await bench(undefined, { mayExist: false });
  expect(await first.write()).toMatchObject({ type: 'done', object: { data: { text: 'bmV3' } } });
  expect(first.verbs()).toEqual(['POST']);
  const maybe = await bench();
  expect(await maybe.write()).toMatchObject({ type: 'done' });
  expect(maybe.verbs()).toEqual(['GET', 'POST']);
});

test('patches a child that differs, and writes nothing the second time', async () => {
  const { write, verbs, read } = await bench(note('b2xk'));
  expect(await write()).toMatchObject({ type: 'done', object: { data: { text: 'bmV3' } } });
  expect(verbs()).toEqual(['GET', 'PATCH']);
  expect(await write()).toMatchObject({ type: 'done' });
  expect(verbs()).toEqual(['GET']);
  expect((await read())?.data).toEqual({ text: 'bmV3' });
});

test('reads what has the name when the create meets it', async () => {
  const { write, verbs } = await bench(note('b2xk'), { mayExist: false });
  expect(await write()).toMatchObject({ type: 'done' });
  expect(verbs()).toEqual(['POST', 'GET', 'PATCH']);
});

test('reads once more when another writer creates it between read and create', async () => {
  const { cluster, write, verbs } = await bench();
  cluster.intercept = (request) => {
    if (request.method !== 'POST') return undefined;
    cluster.intercept = () => undefined;
    return cluster.kube.create(secretResource, note('b2xk')).then(() => cluster.memory.transport(request));
  };
  expect(await write()).toMatchObject({ type: 'done', object: { data: { text: 'bmV3' } } });
  expect(verbs().slice(-2)).toEqual(['GET', 'PATCH']);
});

test('leaves an object that is not owned as it is', async () => {
  const { write, verbs, read } = await bench(foreign);
  expect(await write()).toEqual({ type: 'notOwned' });
  expect(verbs()).toEqual(['GET']);
  expect((await read())?.data).toEqual(foreign.data);
});

test('deletes and creates a child that cannot be changed, under the uid that was read', async () => {
  const { write, verbs, read, before } = await bench(note('b2xk'), { change: () => ({ type: 'recreate' }) });
  expect(await write()).toMatchObject({ type: 'done', object: { data: { text: 'bmV3' } } });
  expect(verbs()).toEqual(['GET', 'DELETE', 'POST']);
  expect((await read())?.metadata.uid).not.toBe(before?.metadata.uid);
});

test('writes nothing when the change is refused', async () => {
  const { write, verbs } = await bench(note('b2xk'), { change: async () => ({ type: 'refuse' }) });
  expect(await write()).toEqual({ type: 'refused' });
  expect(verbs()).toEqual(['GET']);
});
