import { expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';
import { loginText } from './login.ts';
import { workerToken } from './worker-token.ts';

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

test('a login is the same whatever slashes end its address', () => {
  const texts = ['https://m.example', 'https://m.example/', 'https://m.example//'].map((url) =>
    loginText({ url, userId: '7' }),
  );
  expect(new Set(texts).size).toBe(1);
});
