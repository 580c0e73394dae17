import { expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import { claimVerifies, makeClaim } from './claim.ts';
import type { KeyRing } from './key-ring.ts';

const keys: KeyRing = [new Secret('one'), new Secret('two')];
const facts = {
  login: { url: 'https://market.example', userId: '7' },
  uid: 'u',
  attempt: 2,
  instanceId: '9',
};
const claim = makeClaim(keys, facts);

test.each([
  ['as it was made', facts, claim, true],
  [
    'with a final slash in the address',
    { ...facts, login: { ...facts.login, url: 'https://market.example/' } },
    claim,
    true,
  ],
  ['of another login', { ...facts, login: { ...facts.login, userId: '8' } }, claim, false],
  [
    'of another marketplace',
    { ...facts, login: { ...facts.login, url: 'https://other.example' } },
    claim,
    false,
  ],
  ['of another object', { ...facts, uid: 'v' }, claim, false],
  ['of another purchase', { ...facts, attempt: 3 }, claim, false],
  ['of another machine', { ...facts, instanceId: '10' }, claim, false],
  ['that is missing', facts, undefined, false],
  ['that is empty', facts, '', false],
  ['that is no hex', facts, 'zz', false],
  ['with a key of the ring that does not sign any more', facts, makeClaim([new Secret('two')], facts), true],
  ['with a key that is not ours', facts, makeClaim([new Secret('three')], facts), false],
])('a claim %s', (_, given, code, expected) => {
  expect(claimVerifies(keys, given, code)).toBe(expected);
});
