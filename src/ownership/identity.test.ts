import { describe, expect, test } from 'vitest';
import {
  decideIdentity,
  type IdentityFacts,
  identityFromData,
  identityToData,
  newIdentity,
  scopeOf,
} from './identity.ts';

const place = { kubeSystemUid: 'k1', scope: '*' };
const identity = newIdentity({ id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) }, place);
const facts = (change: Partial<IdentityFacts> = {}): IdentityFacts => ({
  stored: 'missing',
  objectsWithRentals: 0,
  labelledMachines: 0,
  kubeSystemUid: 'k1',
  scope: '*',
  ...change,
});

describe('an identity', () => {
  test.each([
    ['is drawn where nothing was ever rented', facts(), { type: 'create' }],
    [
      'is used where it is stored',
      facts({ stored: identity, objectsWithRentals: 3 }),
      { type: 'use', identity, sweep: 'allowed', saveScope: false },
    ],
    [
      'scenario 67: of another cluster is used and sweeps nothing',
      facts({ stored: identity, kubeSystemUid: 'k2' }),
      { type: 'use', identity, sweep: 'clusterChanged', saveScope: false },
    ],
    [
      'is trusted where the cluster cannot be told',
      facts({ stored: identity, kubeSystemUid: undefined }),
      { type: 'use', identity, sweep: 'allowed', saveScope: false },
    ],
    [
      'sweeps nothing when it sees less than before',
      facts({ stored: identity, scope: 'a' }),
      { type: 'use', identity, sweep: 'scopeShrunk', saveScope: false },
    ],
    [
      'sees more than before, and remembers that',
      facts({ stored: { ...identity, scope: 'a' }, scope: 'a,b' }),
      { type: 'use', identity: { ...identity, scope: 'a' }, sweep: 'allowed', saveScope: true },
    ],
  ])('%s', (_, given, expected) => {
    expect(decideIdentity(given)).toEqual(expected);
  });

  test.each([
    ['objects carry a rental', facts({ objectsWithRentals: 1 })],
    ['machines carry the label', facts({ labelledMachines: 1 })],
    ['the Secret holds something else', facts({ stored: 'unreadable' })],
  ])('is lost, with the way to recover, where %s', (_, given) => {
    expect(decideIdentity(given)).toMatchObject({
      type: 'lost',
      message: expect.stringContaining('gpu-rental-operator-identity'),
    });
  });

  test('comes back from the Secret as it was put there', () => {
    expect(identityFromData(identityToData(identity))).toEqual(identity);
  });

  test.each([
    ['nothing', {}],
    ['no key', { installId: identity.installId }],
    ['a short key', { installId: identity.installId, keys: 'ab' }],
    ['a bad id', { installId: 'x', keys: 'a'.repeat(64) }],
  ])('is not read out of %s', (_, data) => {
    expect(identityFromData(data)).toBeUndefined();
  });

  test('signs with the first key of its ring and verifies with all', () => {
    const keys = ['a'.repeat(64), 'b'.repeat(64)];
    const read = identityFromData({ ...identityToData(identity), keys: keys.join('\n') });
    expect(read?.keys.map((key) => key.reveal())).toEqual(keys);
  });

  test('knows its scope whatever the order of the namespaces', () => {
    expect([scopeOf([]), scopeOf(['b', 'a', 'b'])]).toEqual(['*', 'a,b']);
  });
});
