import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../test/builders/memory-cluster.ts';
import { Secret } from '../lib/secret.ts';
import { secretResource } from '../runtime/kube/core-resources.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import { KeptKeys, readKeySecret } from './api-keys.ts';

const first = new Secret('first');

describe('the kept key of an account', () => {
  test('is the last one that was saved, and none before or after', async () => {
    const { kube } = memoryCluster();
    const kept = new KeptKeys(kube, 'default');
    expect(await kept.read('u')).toBeUndefined();
    await kept.save('u', first);
    expect((await kept.read('u'))?.reveal()).toBe('first');
    await kept.save('u', new Secret('second'));
    expect((await kept.read('u'))?.reveal()).toBe('second');
    expect(await kept.read('v')).toBeUndefined();
    await kept.remove('u');
    expect(await kept.read('u')).toBeUndefined();
  });

  test('is not written again where it is the same', async () => {
    const { kube, sent } = memoryCluster();
    const kept = new KeptKeys(kube, 'default');
    await kept.save('u', first);
    sent.length = 0;
    await kept.save('u', first);
    expect(sent.map((line) => line.split(' ')[0])).toEqual(['GET']);
  });

  test('is not said to be saved where it could not be', async () => {
    const cluster = memoryCluster();
    cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined);
    await expect(new KeptKeys(cluster.kube, 'default').save('u', first)).rejects.toThrow();
  });
});

describe('the Secret that an account names', () => {
  const read = (status?: number, reason = '') => {
    const cluster = memoryCluster();
    if (status) cluster.intercept = () => refusedBy(status, reason);
    return readKeySecret(cluster.kube, { namespace: 'default', name: 'key' }, 'api-key');
  };

  test('is reported as missing, or forbidden', async () => {
    expect(await read()).toEqual({ type: 'secretMissing', secret: 'key' });
    expect(await read(403, 'Forbidden')).toEqual({ type: 'forbidden', secret: 'key' });
  });

  test.for([
    [
      'a Secret that the operator keeps',
      { labels: { 'app.kubernetes.io/managed-by': 'gpu-rental-operator' } },
      'Opaque',
    ],
    ['a token of a ServiceAccount', {}, 'kubernetes.io/service-account-token'],
  ] as const)(
    'is no API key where it is %s: it would be sent to the marketplace (M2)',
    async ([, meta, type]) => {
      const cluster = memoryCluster();
      const data = { 'api-key': Buffer.from('canary').toString('base64') };
      const metadata = { name: 'key', namespace: 'default', ...meta };
      await cluster.kube.create(secretResource, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        type,
        data,
      } as KubeObject);
      const reading = await readKeySecret(cluster.kube, { namespace: 'default', name: 'key' }, 'api-key');
      expect(reading).toMatchObject({ type: 'invalid' });
      expect(JSON.stringify(reading)).not.toContain('canary');
    },
  );

  test('is not reported as missing when the API server fails: that would take the key away', async () => {
    await expect(read(400, 'BadRequest')).rejects.toThrow();
  });
});
