import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  installWidgets,
  openWidgetClient,
  type Widget,
  widget,
  widgets,
} from '../../test/builders/widgets.ts';
import { sharedCluster } from '../../test/cluster/shared-cluster.ts';
import { setConditions } from './conditions.ts';
import type { KubeObject, Resource } from './kube/kube-object.ts';
import { addMarks, recordStatus, removeFinalizer } from './writes.ts';

const cluster = sharedCluster();
const { client, close } = openWidgetClient(cluster);
let namespace = '';
beforeAll(async () => {
  await installWidgets(cluster);
  namespace = await cluster.createNamespace('writes');
});
afterAll(async () => {
  await close();
  await cluster.disconnect();
});

test('scenario 48: of two writes under one version the second is a conflict and changes nothing', async () => {
  const created = await client.create<Widget>(widgets, widget(namespace, 'raced'));
  await client.replace(widgets, { ...created, spec: { size: 2 } });
  const late = client.replace(widgets, { ...created, spec: { size: 3 } });
  await expect(late).rejects.toMatchObject({ kind: 'conflict', status: 409, outcome: 'refused' });
  expect((await client.get<Widget>(widgets, created.metadata))?.spec).toEqual({ size: 2 });
});

test('a second create of one name is distinguished from a conflict', async () => {
  await client.create(widgets, widget(namespace, 'twice'));
  await expect(client.create(widgets, widget(namespace, 'twice'))).rejects.toMatchObject({
    kind: 'alreadyExists',
  });
});

test('deletion of another incarnation is refused', async () => {
  const created = await client.create(widgets, widget(namespace, 'incarnation'));
  const wrong = client.delete(widgets, created.metadata, { uid: 'ffffffff-0000-0000-0000-000000000000' });
  await expect(wrong).rejects.toMatchObject({ kind: 'conflict' });
  expect(await client.delete(widgets, created.metadata, { uid: created.metadata.uid })).toBe(true);
  expect(await client.delete(widgets, created.metadata)).toBe(false);
});

test('apply sets fields and takes them over only by force', async () => {
  const body = widget(namespace, 'applied', 7);
  await client.patch(widgets, body.metadata, { type: 'apply', body, fieldManager: 'one' });
  const other = { ...body, spec: { size: 8 } };
  const refused = client.patch(widgets, body.metadata, { type: 'apply', body: other, fieldManager: 'two' });
  await expect(refused).rejects.toMatchObject({ kind: 'conflict' });
  const forced = await client.patch<Widget>(widgets, body.metadata, {
    type: 'apply',
    body: other,
    fieldManager: 'two',
    force: true,
  });
  expect(forced.spec).toEqual({ size: 8 });
});

test('status is written from identity alone, once, and lost races are results', async () => {
  const created = await client.create<Widget>(widgets, widget(namespace, 'status', 5));
  const first = await recordStatus<Widget['status'], Widget>({
    client,
    resource: widgets,
    object: created,
    status: { seen: 1 },
  });
  if (first.type !== 'written') throw new Error(`expected a write, got ${first.type}`);
  expect(first.object.spec).toEqual({ size: 5 });
  expect(first.object.status).toEqual({ seen: 1 });

  const same = await recordStatus<Widget['status'], Widget>({
    client,
    resource: widgets,
    object: first.object,
    status: { seen: 1 },
  });
  expect(same.type).toBe('unchanged');
  const stale = await recordStatus<Widget['status'], Widget>({
    client,
    resource: widgets,
    object: created,
    status: { seen: 2 },
  });
  expect(stale.type).toBe('conflict');
  await client.delete(widgets, created.metadata);
  const gone = await recordStatus<Widget['status'], Widget>({
    client,
    resource: widgets,
    object: first.object,
    status: { seen: 3 },
  });
  expect(gone.type).toBe('gone');
});

test('a recreated object is not written in the place of the one that was read', async () => {
  const read = await client.create<Widget>(widgets, widget(namespace, 'reborn'));
  await client.delete(widgets, read.metadata);
  await client.create(widgets, widget(namespace, 'reborn'));
  const write = await recordStatus<Widget['status'], Widget>({
    client,
    resource: widgets,
    object: read,
    status: { seen: 1 },
  });
  expect(write.type).toBe('conflict');
});

test('a finalizer holds the object until it is removed, and is not removed from another incarnation', async () => {
  const finalizer = 'runtime.test/guard';
  const created = await client.create<Widget>(widgets, widget(namespace, 'guarded'));
  const guarded = await addMarks({ client, resource: widgets, object: created, finalizer });
  if (guarded.type !== 'written') throw new Error(`expected a write, got ${guarded.type}`);
  expect(guarded.object.metadata.finalizers).toContain(finalizer);
  expect((await addMarks({ client, resource: widgets, object: guarded.object, finalizer })).type).toBe(
    'unchanged',
  );
  expect((await addMarks({ client, resource: widgets, object: created, finalizer })).type).toBe('conflict');

  await client.delete(widgets, created.metadata);
  const finalizing = await client.get<Widget>(widgets, created.metadata);
  if (!finalizing) throw new Error('the finalizer did not hold the object');
  expect(finalizing.metadata.finalizers).toContain(finalizer);
  const remove = () => removeFinalizer({ client, resource: widgets, object: finalizing, finalizer });
  expect((await remove()).type).toBe('written');
  expect(await client.get(widgets, created.metadata)).toBeUndefined();
  expect((await remove()).type).toBe('gone');
  const reborn = widget(namespace, 'guarded');
  await client.create(widgets, { ...reborn, metadata: { ...reborn.metadata, finalizers: [finalizer] } });
  expect((await remove()).type).toBe('conflict');
});

test('conditions pass the schema of metav1.Condition', async () => {
  const pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
  const reviews: Resource = {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectaccessreviews',
    kind: 'SelfSubjectAccessReview',
    namespaced: false,
  };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: { name: '' },
    spec: { resourceAttributes: { verb: 'get', resource: pods.plural } },
  };
  const answer = await client.create<KubeObject & { status?: { allowed?: boolean } }>(reviews, review);
  expect(answer.status?.allowed).toBe(true);
  const conditions = setConditions({
    previous: undefined,
    desired: [{ type: 'Ready', status: 'True', reason: 'Fine', message: '' }],
    generation: 1,
    now: '2026-11-20T10:00:00Z',
  });
  const created = await client.create<Widget>(widgets, widget(namespace, 'conditions'));
  const status = { seen: 1, conditions };
  const write = await recordStatus<Widget['status'], Widget>({
    client,
    resource: widgets,
    object: created,
    status,
  });
  expect(write).toMatchObject({ type: 'written', object: { status } });
});
