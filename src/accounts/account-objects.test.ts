import { describe, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { Secret } from '../lib/secret.ts';
import { makeClaim } from '../ownership/claim.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import { countedObjects } from './account-instances.ts';

const KEYS: KeyRing = [new Secret('1'.repeat(64))];
const login = { url: 'https://market.example', userId: '7' };
const permits = (namespace: string) => namespace === 'team';

const facts = { uid: 'u1', attempt: 1, instanceId: '7' };
const claim = { ...facts, claim: makeClaim(KEYS, { ...facts, login }) };

describe('an object of a namespace that the account does not permit', () => {
  const counts = (change: Parameters<typeof instanceSummary>[0], more = {}) =>
    countedObjects([instanceSummary({ key: 'other/a', ...change })], { permits, keys: KEYS, login, ...more })
      .length === 1;

  test.each([
    ['and that has rented nothing counts for nothing', {}, false],
    ['counts while it has a machine that is proven to be rented', { instanceId: '7', claim }, true],
    [
      'and that names a machine without proof counts for nothing',
      { instanceId: '8', claim: { ...claim, instanceId: '8' } },
      false,
    ],
    ['counts where it has rented before, or is about to', { hasProvenIntent: true }, true],
    ['and whose intent nobody can read counts for nothing', { hasDoubtfulIntent: true }, false],
  ] as const)('%s', (_, change, counted) => {
    expect(counts(change)).toBe(counted);
  });

  test('has no claim that fits another login', () => {
    expect(counts({ claim }, { login: { ...login, userId: '8' } })).toBe(false);
    expect(counts({ claim }, { login: undefined })).toBe(false);
  });

  test('counts while no identity is known, since nothing can be proven', () => {
    expect(counts({}, { keys: undefined })).toBe(true);
  });
});

test('every object of a permitted namespace counts, and each namespace is asked for once', () => {
  const asked: string[] = [];
  const counting = {
    permits: (namespace: string) => {
      asked.push(namespace);
      return permits(namespace);
    },
    keys: KEYS,
    login,
  };
  const objects = ['team/a', 'other/a', 'team/b', 'other/b'].map((key) => instanceSummary({ key }));
  expect(countedObjects(objects, counting).map(({ key }) => key)).toEqual(['team/a', 'team/b']);
  expect(asked).toEqual(['team', 'other']);
});
