import { describe, expect, test } from 'vitest';
import type { KubeClient } from './kube/kube-client.ts';
import { KubeError, type KubeErrorKind } from './kube/kube-error.ts';
import type { KubeObject, Resource } from './kube/kube-object.ts';
import { addFinalizer, recordStatus, removeFinalizer } from './writes.ts';

const resource: Resource = { group: 'g', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };
const finalizer = 'g/guard';
const thing = {
  apiVersion: 'g/v1',
  kind: 'Thing',
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '5', finalizers: ['other'] },
  status: { count: 1 },
};

/** A client that notes what it is sent, and fails as told. */
function clientThat(fails?: KubeErrorKind) {
  const sent: unknown[] = [];
  const write = async (body: unknown) => {
    sent.push(body);
    if (fails)
      throw new KubeError('told to fail', { kind: fails, status: 0, reason: '', outcome: 'refused' });
    return body;
  };
  const client = {
    patch: (_resource: Resource, _ref: unknown, patch: unknown) => write(patch),
    replace: (_resource: Resource, object: KubeObject) => write(object),
  } as unknown as KubeClient;
  return { client, sent };
}

describe('a status', () => {
  test('is written under the version and uid that were read, with nothing else of the object', async () => {
    const { client, sent } = clientThat();
    const write = await recordStatus({ client, resource, object: thing, status: { count: 2 } });
    expect(write.type).toBe('written');
    expect(sent).toEqual([
      {
        apiVersion: 'g/v1',
        kind: 'Thing',
        metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '5' },
        status: { count: 2 },
      },
    ]);
  });

  test('that is as it was is not written', async () => {
    const { client, sent } = clientThat();
    expect(await recordStatus({ client, resource, object: thing, status: { count: 1 } })).toEqual({
      type: 'unchanged',
      object: thing,
    });
    expect(sent).toEqual([]);
  });

  test.each([
    ['conflict', 'conflict'],
    ['notFound', 'gone'],
  ] as const)('says %s as %s, and throws what else fails', async (kind, type) => {
    const status = { count: 2 };
    const { client } = clientThat(kind);
    expect((await recordStatus({ client, resource, object: thing, status })).type).toBe(type);
    const away = clientThat('unavailable');
    await expect(recordStatus({ client: away.client, resource, object: thing, status })).rejects.toThrow();
  });
});

describe('a guard', () => {
  const guarded = { ...thing, metadata: { ...thing.metadata, finalizers: ['other', finalizer] } };

  test('comes and goes under the version that was read, beside those of others', async () => {
    const { client, sent } = clientThat();
    await addFinalizer({ client, resource, object: thing, finalizer });
    await removeFinalizer({ client, resource, object: guarded, finalizer });
    expect(JSON.stringify(sent[0])).toContain('"resourceVersion":"5"');
    expect(JSON.stringify(sent[0])).toContain('"finalizers":["other","g/guard"]');
    expect(JSON.stringify(sent[1])).toContain('"resourceVersion":"5"');
    expect(JSON.stringify(sent[1])).toContain('"finalizers":["other"]');
  });

  test('that is as it should be is not written', async () => {
    const { client, sent } = clientThat();
    expect((await addFinalizer({ client, resource, object: guarded, finalizer })).type).toBe('unchanged');
    expect((await removeFinalizer({ client, resource, object: thing, finalizer })).type).toBe('unchanged');
    expect(sent).toEqual([]);
  });

  test.each([
    ['conflict', 'conflict'],
    ['notFound', 'gone'],
  ] as const)('says %s as %s, and throws what else fails', async (kind, type) => {
    const { client } = clientThat(kind);
    expect((await addFinalizer({ client, resource, object: thing, finalizer })).type).toBe(type);
    const away = clientThat('unavailable');
    await expect(addFinalizer({ client: away.client, resource, object: thing, finalizer })).rejects.toThrow();
  });
});
