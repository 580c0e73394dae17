import { describe, expect, test } from 'vitest';
import { row } from '../../test/builders/observed.ts';
import { MarketplaceError } from '../market/errors.ts';
import { provenGone } from './inventory.ts';

const timeout = new MarketplaceError('no answer', { kind: 'timeout', outcome: 'unknown' });

type Answer = 'there' | 'null' | 'failed';

async function checked(answers: Readonly<Record<string, Answer>>, isProven = true) {
  const found: string[] = [];
  let proofs = 0;
  const gone = await provenGone(new Set(Object.keys(answers)), {
    read: async (id) => {
      if (answers[id] === 'failed') throw timeout;
      return answers[id] === 'there' ? row({ id }) : null;
    },
    proveLogin: async () => {
      proofs += 1;
      return isProven;
    },
    onPresent: (id) => found.push(id),
  });
  return { gone: [...gone], found, proofs };
}

describe('a machine that lists do not show', () => {
  test('is gone where a read of its own says so, and the key proves the login', async () => {
    expect(await checked({ 5: 'null', 6: 'null' })).toEqual({ gone: ['5', '6'], found: [], proofs: 1 });
  });

  test('is not gone for a key of another login', async () => {
    expect((await checked({ 5: 'null' }, false)).gone).toEqual([]);
  });

  test('is not gone where a read shows it, or fails', async () => {
    expect(await checked({ 5: 'there', 6: 'failed' })).toEqual({ gone: [], found: ['5'], proofs: 0 });
  });

  test('is one of four that are read at a time', async () => {
    const answers = { 1: 'there', 2: 'null', 3: 'null', 4: 'null', 5: 'null' } as const;
    expect((await checked(answers)).gone).toEqual(['2', '3', '4']);
  });

  test('ends the check where it cannot be asked for at all', async () => {
    const read = () => Promise.reject(new TypeError('a bug'));
    const sources = { read, proveLogin: async () => true, onPresent: () => {} };
    await expect(provenGone(new Set(['5']), sources)).rejects.toThrow('a bug');
  });
});
