import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { LogFields } from '../lib/logger.ts';
import { silentLogger } from '../lib/logger.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { objectKey } from '../runtime/kube/kube-object.ts';
import { NamedSecrets, RETRY_MS, SECRET_READ_MS } from './named-secrets.ts';

const REF = { namespace: 'default', name: 'llm-keys' };
const KEY = 'default/llm-keys';

/** Returns a cluster with Secrets by key, whose reads are counted and may be refused. */
function bench() {
  const clock = createVirtualClock();
  const stored = new Map<string, { readonly version: string; readonly text: string }>();
  const reads: string[] = [];
  const changes: string[] = [];
  const warnings: (LogFields | undefined)[] = [];
  const trouble: { failure: Error | undefined } = { failure: undefined };
  const get = async (_: unknown, ref: { readonly namespace?: string | undefined; readonly name: string }) => {
    reads.push(objectKey(ref));
    if (trouble.failure) throw trouble.failure;
    const found = stored.get(objectKey(ref));
    return (
      found && {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { ...ref, uid: 'uid', resourceVersion: found.version },
        data: { alice: Buffer.from(found.text).toString('base64') },
      }
    );
  };
  const secrets = new NamedSecrets({
    client: { get } as Pick<KubeClient, 'get'>,
    clock,
    log: { ...silentLogger, warn: (_, fields) => warnings.push(fields) },
    onChange: (key) => changes.push(key),
  });
  return { clock, stored, reads, changes, warnings, trouble, secrets };
}

test('reads a Secret at once, by its name alone, and again every 30 s', async () => {
  const { clock, stored, reads, changes, secrets } = bench();
  stored.set(KEY, { version: '1', text: 'hash-1' });
  secrets.follow([REF]);
  expect(secrets.known(REF)).toEqual({ type: 'unread' });
  await clock.settle();
  expect(secrets.known(REF)).toMatchObject({ type: 'present', data: new Map([['alice', 'hash-1']]) });
  stored.set(KEY, { version: '2', text: 'hash-2' });
  await clock.advance(SECRET_READ_MS);
  expect(secrets.known(REF)).toMatchObject({ data: new Map([['alice', 'hash-2']]) });
  await clock.advance(SECRET_READ_MS);
  expect(reads).toEqual([KEY, KEY, KEY]);
  expect(changes).toEqual([KEY, KEY]);
});

test('knows that there is none, and finds the one that is made later within 2 s', async () => {
  const { clock, stored, changes, secrets } = bench();
  secrets.follow([REF]);
  await clock.settle();
  expect(secrets.known(REF)).toEqual({ type: 'absent' });
  stored.set(KEY, { version: '1', text: 'hash' });
  await clock.advance(RETRY_MS);
  expect(secrets.known(REF).type).toBe('present');
  expect(changes).toEqual([KEY, KEY]);
});

test('keeps what it knows while reads fail, tries again soon, and warns once', async () => {
  const { clock, stored, warnings, trouble, secrets } = bench();
  stored.set(KEY, { version: '1', text: 'hash-1' });
  secrets.follow([REF]);
  await clock.settle();
  trouble.failure = new Error('the API server is away');
  await clock.advance(SECRET_READ_MS + 6_000);
  expect(secrets.known(REF)).toMatchObject({ data: new Map([['alice', 'hash-1']]) });
  expect(warnings).toEqual([{ secret: KEY, problem: 'the API server is away' }]);
  trouble.failure = undefined;
  stored.set(KEY, { version: '2', text: 'hash-2' });
  await clock.advance(2_000);
  expect(secrets.known(REF)).toMatchObject({ data: new Map([['alice', 'hash-2']]) });
});

test('forgets a Secret that is no longer referenced, also while it is being read', async () => {
  const { clock, stored, reads, changes, secrets } = bench();
  stored.set(KEY, { version: '1', text: 'hash' });
  secrets.follow([REF]);
  secrets.follow([]);
  await clock.advance(10 * SECRET_READ_MS);
  expect(secrets.known(REF)).toEqual({ type: 'unread' });
  expect(reads).toHaveLength(1);
  expect(changes).toEqual([]);
});
