import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import {
  hasOperatorPrefix,
  type LabelIdentity,
  makeLabel,
  makeRetainedLabel,
  readLabel,
  remnantOf,
} from './label.ts';

const identity: LabelIdentity = { installId8: 'abcdef01', keys: [new Secret('one'), new Secret('two')] };
const facts = { uid: '11111111-2222-4333-8444-555555555555', attempt: 3, issuedAt: 1_763_640_000_000 };
const label = makeLabel(identity, facts);

describe('a label', () => {
  test('is written as it is documented, in lower case and far below 256 characters', () => {
    expect(label).toMatch(
      /^gpurental1:abcdef01:11111111-2222-4333-8444-555555555555:3:1763640000000:[0-9a-f]{20}$/,
    );
    expect(label).toBe(label.toLowerCase());
  });

  test('comes back with what it was made of, whatever that was', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.integer({ min: 0, max: 1e6 }),
        fc.integer({ min: 0, max: 4e12 }),
        (uid, attempt, issuedAt) => {
          expect(readLabel(identity, makeLabel(identity, { uid, attempt, issuedAt }))).toEqual({
            type: 'verified',
            retained: false,
            facts: { uid, attempt, issuedAt },
          });
        },
      ),
    );
  });

  test('is not believed when any one character of it is changed', () => {
    fc.assert(
      fc.property(fc.nat(label.length - 1), fc.constantFrom(...'0123456789abcdef:x'), (index, character) => {
        const forged = `${label.slice(0, index)}${character}${label.slice(index + 1)}`;
        if (forged !== label) expect(readLabel(identity, forged).type).not.toBe('verified');
      }),
    );
  });

  test.each([
    ['no label', undefined, { type: 'none' }],
    ['null', null, { type: 'none' }],
    ['an empty label', '', { type: 'none' }],
    ["someone's text", 'my machine', { type: 'someoneElses' }],
    ['scenario 69: a label that was cut', label.slice(0, 60), { type: 'unverified', retained: false }],
    ['upper case hex', label.toUpperCase(), { type: 'someoneElses' }],
    [
      'scenario 66: one of another installation',
      makeLabel({ ...identity, installId8: '99999999' }, facts),
      { type: 'foreignInstall', installId8: '99999999', retained: false },
    ],
    [
      'one of our id made with a key that is not ours',
      makeLabel({ ...identity, keys: [new Secret('other')] }, facts),
      { type: 'unverified', retained: false },
    ],
    [
      'one made with an older key of the ring',
      makeLabel({ ...identity, keys: [new Secret('two')] }, facts),
      { type: 'verified', retained: false, facts },
    ],
    ['a retained one', makeRetainedLabel(identity, facts), { type: 'verified', retained: true, facts }],
    [
      'a retained one made of a plain one',
      label.replace('gpurental1:', 'gpurental1-retained:'),
      { type: 'unverified', retained: true },
    ],
    [
      'a plain one made of a retained one',
      makeRetainedLabel(identity, facts).replace('-retained', ''),
      { type: 'unverified', retained: false },
    ],
  ])('%s is distinguished', (_, text, expected) => {
    expect(readLabel(identity, text)).toEqual(expected);
  });

  test.each([
    ['whole', label, 'none'],
    ['without its colons and in upper case', label.replaceAll(':', '').toUpperCase(), 'recognizable'],
    ['cut after the install id', label.slice(0, 19), 'recognizable'],
    ['cut within the install id', label.slice(0, 18), 'doubtful'],
    ['of another installation', label.replace('abcdef01', '99999999'), 'none'],
    ['of somebody else', 'my machine', 'none'],
    ['gone but for its colons', '::', 'none'],
  ])('scenario 69: what is left of one that comes back %s', (_, shown, expected) => {
    expect(remnantOf(label, shown)).toBe(expected);
  });

  test('of any installation is known by its prefix', () => {
    expect([label, makeRetainedLabel(identity, facts), 'gpurental', '', null].map(hasOperatorPrefix)).toEqual(
      [true, true, false, false, false],
    );
  });
});

test('a retained machine carries a label of its own kind, whose code is not that of a recorded one', () => {
  const retained = makeRetainedLabel(identity, facts);
  expect(retained).toMatch(/^gpurental1-retained:abcdef01:/);
  expect(retained.split(':')).toHaveLength(6);
  const asHeld = retained.replace('gpurental1-retained:', 'gpurental1:');
  expect(readLabel(identity, asHeld).type).not.toBe('verified');
  expect(asHeld.split(':').at(-1)).not.toBe(makeLabel(identity, facts).split(':').at(-1));
});
