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
  ownMachines: 0,
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
      { type: 'use', identity, sweep: 'allowed', scopeToSave: undefined },
    ],
    [
      'scenario 67: of another cluster is used and sweeps nothing',
      facts({ stored: identity, kubeSystemUid: 'k2' }),
      { type: 'use', identity, sweep: 'clusterChanged', scopeToSave: undefined },
    ],
    [
      'is trusted where the cluster cannot be told',
      facts({ stored: identity, kubeSystemUid: undefined }),
      { type: 'use', identity, sweep: 'allowed', scopeToSave: undefined },
    ],
    [
      'sweeps nothing when it sees less than before',
      facts({ stored: identity, scope: 'a' }),
      { type: 'use', identity, sweep: 'scopeShrunk', scopeToSave: undefined },
    ],
    [
      'sees more than before, and remembers that',
      facts({ stored: { ...identity, scope: 'a' }, scope: 'a,b' }),
      { type: 'use', identity: { ...identity, scope: 'a' }, sweep: 'allowed', scopeToSave: 'a,b' },
    ],
  ])('%s', (_, given, expected) => {
    expect(decideIdentity(given)).toEqual(expected);
  });

  test.each([
    ['of all namespaces sees less than them', facts({ stored: identity, scope: 'a,b' }), 'scopeShrunk'],
    ['of some sees all', facts({ stored: { ...identity, scope: 'a' }, scope: '*' }), 'allowed'],
    [
      'of some sees one of them less',
      facts({ stored: { ...identity, scope: 'a,b' }, scope: 'a,c' }),
      'scopeShrunk',
    ],
    [
      'of a cluster that could not be told is used wherever it is',
      facts({ stored: { ...identity, kubeSystemUid: undefined } }),
      'allowed',
    ],
  ])('%s', (_, given, sweep) => {
    expect(decideIdentity(given)).toMatchObject({ type: 'use', sweep });
  });

  test.each([
    ['some and others', 'a,b', 'a,c', 'a,b,c'],
    ['some and all', 'a,b', '*', '*'],
    ['all and some', '*', 'a', undefined],
    ['some and fewer', 'a,b', 'b', undefined],
    ['the same', 'a,b', 'a,b', undefined],
  ])('remembers everything that it ever watched: %s', (_, stored, scope, scopeToSave) => {
    const given = facts({ stored: { ...identity, scope: stored }, scope });
    expect(decideIdentity(given)).toMatchObject({ type: 'use', scopeToSave });
  });

  test('whose stored scope a person wrote out of order sees all of it', () => {
    const given = facts({ stored: { ...identity, scope: 'b, a' }, scope: 'a,b' });
    expect(decideIdentity(given)).toMatchObject({ sweep: 'allowed' });
  });

  test('that is lost says what would be left behind', () => {
    const lost = decideIdentity(facts({ objectsWithRentals: 2, ownMachines: 3 }));
    expect(lost).toMatchObject({
      message: expect.stringMatching(
        /2 objects carry a rental and 3 machines carry .*gpu-rent reset identity/s,
      ),
    });
  });

  test.each([
    ['objects carry a rental', facts({ objectsWithRentals: 1 })],
    ['machines carry the label', facts({ ownMachines: 1 })],
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
    ['an id with more before it', { installId: `z${'a'.repeat(32)}`, keys: 'a'.repeat(64) }],
    ['an id with more after it', { installId: `${'a'.repeat(32)}z`, keys: 'a'.repeat(64) }],
    ['a key with more before it', { installId: identity.installId, keys: `z${'a'.repeat(64)}` }],
    ['a key with more after it', { installId: identity.installId, keys: `${'a'.repeat(64)}z` }],
    ['a good key and a bad one', { installId: identity.installId, keys: `${'a'.repeat(64)}\nb` }],
  ])('is not read out of %s', (_, data) => {
    expect(identityFromData(data)).toBeUndefined();
  });

  test('comes back whatever white space a person has left in it', () => {
    const [key = ''] = identity.keys.map((each) => each.reveal());
    const read = identityFromData({
      installId: ` ${identity.installId}\n`,
      keys: `\n  ${key}\n\n${'b'.repeat(64)} \n`,
      kubeSystemUid: ' k1\n',
      scope: ' a,b\n',
    });
    expect(read).toMatchObject({ installId: identity.installId, kubeSystemUid: 'k1', scope: 'a,b' });
    expect(read?.installId8).toBe(identity.installId.slice(0, 8));
    expect(read?.keys.map((each) => each.reveal())).toEqual([key, 'b'.repeat(64)]);
  });

  test('of a cluster that cannot be identified says nothing of it, and watches all namespaces if it names none', () => {
    const { kubeSystemUid: _unknown, ...data } = identityToData({ ...identity, kubeSystemUid: undefined });
    expect(identityToData({ ...identity, kubeSystemUid: undefined })).not.toHaveProperty('kubeSystemUid');
    const { scope: _scope, ...bare } = data;
    expect(identityFromData(bare)).toMatchObject({ kubeSystemUid: undefined, scope: '*' });
  });

  test('has a short name of eight characters, as labels carry it', () => {
    expect(identity.installId8).toBe('01010101');
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
