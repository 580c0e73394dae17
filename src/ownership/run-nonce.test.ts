import { expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import { runNonce, runNonces } from './run-nonce.ts';

const old = new Secret('an old key of thirty-two letters');
const present = new Secret('the present key, thirty-two long');
const rental = { uid: '7d3f', attempt: 2 };

test('returns twelve characters that a shell and a file name accept unquoted', () => {
  expect(runNonce([present], rental)).toMatch(/^[0-9a-f]{12}$/);
});

test('returns another nonce for another object, attempt or key', () => {
  const nonces = [
    runNonce([present], rental),
    runNonce([present], { ...rental, attempt: 3 }),
    runNonce([present], { ...rental, uid: '7d3e' }),
    runNonce([old], rental),
  ];
  expect(new Set(nonces).size).toBe(4);
});

test('knows the nonce of a machine that was rented before the key was rotated', () => {
  expect(runNonces([present, old], rental)).toEqual([runNonce([present], rental), runNonce([old], rental)]);
});
