import { describe, expect, test } from 'vitest';
import type { KubeClient } from './kube/kube-client.ts';
import { KubeError, type KubeErrorKind } from './kube/kube-error.ts';
import type { KubeObject, Resource } from './kube/kube-object.ts';
import {
  addMarks,
  Receipt,
  type RecordOptions,
  receiptOf,
  record,
  recordStatus,
  removeFinalizer,
} from './writes.ts';

const resource: Resource = { group: 'g', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };
const finalizer = 'g/guard';
const thing = {
  apiVersion: 'g/v1',
  kind: 'Thing',
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '5', finalizers: ['other'] },
  status: { count: 1 },
};

/** Returns a client that records its requests, and fails with this kind. */
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
    await addMarks({ client, resource, object: thing, finalizer });
    await removeFinalizer({ client, resource, object: guarded, finalizer });
    expect(JSON.stringify(sent[0])).toContain('"resourceVersion":"5"');
    expect(JSON.stringify(sent[0])).toContain('"finalizers":["other","g/guard"]');
    expect(JSON.stringify(sent[1])).toContain('"resourceVersion":"5"');
    expect(JSON.stringify(sent[1])).toContain('"finalizers":["other"]');
  });

  test('that is as it should be is not written', async () => {
    const { client, sent } = clientThat();
    expect((await addMarks({ client, resource, object: guarded, finalizer })).type).toBe('unchanged');
    expect((await removeFinalizer({ client, resource, object: thing, finalizer })).type).toBe('unchanged');
    expect(sent).toEqual([]);
  });

  test.each([
    ['conflict', 'conflict'],
    ['notFound', 'gone'],
  ] as const)('says %s as %s, and throws what else fails', async (kind, type) => {
    const { client } = clientThat(kind);
    expect((await addMarks({ client, resource, object: thing, finalizer })).type).toBe(type);
    const away = clientThat('unavailable');
    await expect(addMarks({ client: away.client, resource, object: thing, finalizer })).rejects.toThrow();
  });
});

describe('the record of a decision', () => {
  /** Writes finalizer and status of `thing`, by a client that refuses one verb with this kind of error. */
  async function recorded(
    decision: Pick<
      RecordOptions<{ readonly count: number }, typeof thing>,
      'finalizer' | 'annotations' | 'status'
    >,
    fails?: { readonly verb: 'patch' | 'replace'; readonly kind: KubeErrorKind },
  ) {
    const sent: string[] = [];
    const cached: string[] = [];
    const write = (verb: 'patch' | 'replace') => async () => {
      sent.push(verb);
      if (fails?.verb === verb)
        throw new KubeError('refused', { kind: fails.kind, status: 409, reason: '', outcome: 'refused' });
      return { ...thing, metadata: { ...thing.metadata, resourceVersion: `after ${verb}` } };
    };
    const client = { patch: write('patch'), replace: write('replace') } as unknown as KubeClient;
    const onWritten = ({ metadata }: KubeObject) => cached.push(metadata.resourceVersion ?? '');
    const run = record({ client, resource, object: thing, onWritten, ...decision });
    return { receipt: await run, sent, cached };
  }

  test('sets the finalizer before it writes the status, and passes both on to the cache', async () => {
    const { receipt, sent, cached } = await recorded({ finalizer, status: { count: 2 } });
    expect(sent).toEqual(['patch', 'replace']);
    expect(cached).toEqual(['after patch', 'after replace']);
    expect(receipt?.object.metadata.resourceVersion).toBe('after replace');
  });

  test('writes annotations with the finalizer in one write, under version and uid, even if both are there', async () => {
    const { client, sent } = clientThat();
    const annotations = { 'g/intent': 'buy' };
    const guarded = {
      ...thing,
      metadata: { ...thing.metadata, finalizers: ['other', finalizer], annotations },
    };
    for (const object of [thing, guarded])
      await record({ client, resource, object, finalizer, annotations, onWritten() {} });
    const finalizers = ['other', finalizer];
    const body = { metadata: { uid: 'u', resourceVersion: '5', finalizers, annotations } };
    expect(sent).toEqual([
      { type: 'merge', body },
      { type: 'merge', body },
    ]);
  });

  test('writes nothing and gives a receipt when the object has it all already', async () => {
    const { receipt, sent, cached } = await recorded({ finalizer: 'other', status: { count: 1 } });
    expect([sent, cached]).toEqual([[], []]);
    expect(receipt?.object).toBe(thing);
    expect((await recorded({})).receipt?.object).toBe(thing);
  });

  test.each([
    ['patch', 'conflict', ['patch']],
    ['patch', 'notFound', ['patch']],
    ['replace', 'conflict', ['patch', 'replace']],
    ['replace', 'notFound', ['patch', 'replace']],
  ] as const)(
    'gives no receipt when its %s meets %s, and writes nothing after it',
    async (verb, kind, verbs) => {
      const { receipt, sent } = await recorded({ finalizer, status: { count: 2 } }, { verb, kind });
      expect(receipt).toBeUndefined();
      expect(sent).toEqual(verbs);
    },
  );

  test.each(['patch', 'replace'] as const)('rejects when its %s fails for another reason', async (verb) => {
    const failing = recorded({ finalizer, status: { count: 2 } }, { verb, kind: 'unavailable' });
    await expect(failing).rejects.toThrow('refused');
  });
});

describe('a receipt', () => {
  test('cannot be made without a record', () => {
    const made = (proof: unknown) => () => new Receipt(thing, proof as Receipt<typeof thing>);
    expect(made(undefined)).toThrow('record()');
    expect(made(Symbol('recorded'))).toThrow('record()');
    expect(made({ object: thing })).toThrow('record()');
    expect(made(receiptOf({ ...thing }))).toThrow('record()');
    expect(new Receipt(thing, receiptOf(thing)).isRecorded).toBe(true);
  });
});
