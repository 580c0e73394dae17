import { expect, test } from 'vitest';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';
import { loginText } from './login.ts';
import { leaseProof, provenLease, workerToken } from './worker-token.ts';

const keys: KeyRing = [new Secret('one'), new Secret('two')];
const rental = { uid: 'u', attempt: 1 };

test('the token of a rental is the same each time, and fits into an environment', () => {
  expect(workerToken(keys, rental)).toBe(workerToken([keys[0]], { ...rental }));
  expect(workerToken(keys, rental)).toMatch(/^[\w-]{43}$/);
});

test('the token of another object, rental or installation is another', () => {
  const others = [
    workerToken(keys, rental),
    workerToken(keys, { ...rental, uid: 'v' }),
    workerToken(keys, { ...rental, attempt: 2 }),
    workerToken([new Secret('two')], rental),
  ];
  expect(new Set(others).size).toBe(4);
});

test('the proof of a lease is shown for the token of the present machine only', () => {
  const object = { metadata: { uid: 'u', name: 'n' }, status: { attempt: 1 } } as GpuInstance;
  const token = workerToken(keys, rental);
  const proof = leaseProof(keys, rental);
  expect(proof).toMatch(/^[\w-]{43}$/);
  expect(provenLease(keys, object, token)).toBe(proof);
  for (const shown of ['', proof, token.slice(1), workerToken(keys, { ...rental, attempt: 2 })])
    expect(provenLease(keys, object, shown)).toBeUndefined();
  expect(provenLease(undefined, object, token)).toBeUndefined();
  expect(provenLease(keys, { ...object, status: undefined } as GpuInstance, token)).toBeUndefined();
});

test('a machine that was rented before a rotation of the keys has the proof of its own key', () => {
  const object = { metadata: { uid: 'u', name: 'n' }, status: { attempt: 1 } } as GpuInstance;
  const older: KeyRing = [new Secret('two')];
  expect(provenLease(keys, object, workerToken(older, rental))).toBe(leaseProof(older, rental));
  expect(provenLease(older, object, workerToken(keys, rental))).toBeUndefined();
});

test('a login is the same whatever slashes end its address', () => {
  const texts = ['https://m.example', 'https://m.example/', 'https://m.example//'].map((url) =>
    loginText({ url, userId: '7' }),
  );
  expect(new Set(texts).size).toBe(1);
});
