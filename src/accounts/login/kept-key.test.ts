import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import { Secret } from '../../lib/secret.ts';
import { KeptKeys } from './kept-key.ts';
import { readKeySecret } from './key-secret.ts';

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

  test('is told to be missing, or forbidden', async () => {
    expect(await read()).toEqual({ type: 'secretMissing', secret: 'key' });
    expect(await read(403, 'Forbidden')).toEqual({ type: 'forbidden', secret: 'key' });
  });

  test('is not told to be missing by an API server that fails: that would take the key away', async () => {
    await expect(read(400, 'BadRequest')).rejects.toThrow();
  });
});
