import { describe, expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import { makeClaim } from './claim.ts';
import { defaultConstants } from './constants.ts';
import { type LabelIdentity, makeLabel, makeRetainedLabel } from './label.ts';
import { type OwnedRow, type OwnershipContext, ownershipOf } from './ownership.ts';

const identity: LabelIdentity = { installId8: 'abcdef01', keys: [new Secret('one')] };
const login = { url: 'https://market.example', userId: '7' };
const context: OwnershipContext = { identity, login, constants: defaultConstants };
const ISSUED = 1_763_640_000_000;
const facts = { uid: 'aaaa', attempt: 1, issuedAt: ISSUED };
const label = makeLabel(identity, facts);
const row = (change: Partial<OwnedRow> = {}): OwnedRow => ({
  id: '5',
  label,
  startedAt: ISSUED + 1_000,
  ...change,
});
const claim = (instanceId: string, uid = 'aaaa') => ({
  uid,
  attempt: 2,
  instanceId,
  claim: makeClaim(identity.keys, { login, uid, attempt: 2, instanceId }),
});

describe('a machine', () => {
  test.each([
    ['60 s before the label was issued', -60_000, 'labelled'],
    ['more than 60 s before it', -60_001, 'labelCopied'],
    ['as late as a call and a list may be', 180_000, 'labelled'],
    ['later than that', 180_001, 'labelCopied'],
  ])('that began %s is %s later judged by its label window', (_, offset, type) => {
    expect(ownershipOf(row({ startedAt: ISSUED + offset }), context)).toMatchObject({ type, facts });
  });

  test.each([
    ['before its label was issued', -60_001, false],
    ['after the window of its label', 180_001, true],
    ['a day after its label', 86_400_000, true],
    ['later than a day after its label', 86_400_001, false],
  ])('scenario 88: that began %s may be a late rental: %s ms, %s (H6)', (_, offset, isLate) => {
    expect(ownershipOf(row({ startedAt: ISSUED + offset }), context)).toEqual({
      type: 'labelCopied',
      facts,
      isLate,
    });
  });

  test.each([
    ['without a start date', row({ startedAt: undefined }), { type: 'undated', facts }],
    [
      'that was kept on purpose',
      row({ label: makeRetainedLabel(identity, facts) }),
      { type: 'retained', facts },
    ],
    [
      'scenario 68: with a forged label',
      row({ label: `${label.slice(0, -1)}${label.endsWith('0') ? '1' : '0'}` }),
      { type: 'labelForged' },
    ],
    [
      'scenario 66: of another installation',
      row({ label: makeLabel({ ...identity, installId8: '00000000' }, facts) }),
      { type: 'foreignInstall', installId8: '00000000' },
    ],
    ["with someone's label", row({ label: 'mine' }), { type: 'someoneElses' }],
    ['without a label', row({ label: null }), { type: 'unlabelled' }],
    ['of a service that echoes none', row({ label: undefined }), { type: 'unlabelled' }],
  ])('%s is not ours to destroy', (_, given, expected) => {
    expect(ownershipOf(given, context)).toEqual(expected);
  });

  test('is ours by a claim that verifies, whatever its label says', () => {
    const claims = [claim('5')];
    for (const text of [null, 'mine', label]) {
      expect(ownershipOf(row({ label: text, startedAt: 0 }), { ...context, claims })).toEqual({
        type: 'claimed',
        uid: 'aaaa',
        attempt: 2,
      });
    }
  });

  test.each([
    ['of another machine', { ...claim('6'), instanceId: '5' }],
    ['of another object', { ...claim('5'), uid: 'bbbb' }],
    ['of another purchase', { ...claim('5'), attempt: 3 }],
    ['for a machine with another id', claim('6')],
  ])('is not ours by a claim %s', (_, wrong) => {
    expect(ownershipOf(row({ label: null }), { ...context, claims: [wrong] })).toEqual({
      type: 'unlabelled',
    });
  });

  test('scenario 32: is not ours by a claim of another login', () => {
    const other = { ...context, login: { ...login, userId: '8' }, claims: [claim('5')] };
    expect(ownershipOf(row({ label: null }), other)).toEqual({ type: 'unlabelled' });
  });
});
