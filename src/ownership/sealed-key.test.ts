import { expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';
import { type MachineFacts, openKey, sealKey } from './sealed-key.ts';

const ring = (...texts: [string, ...string[]]): KeyRing =>
  texts.map((text) => new Secret(text)) as unknown as KeyRing;
const machine: MachineFacts = { uid: 'u', attempt: 1, instanceId: '7' };
const sealed = sealKey(ring('one'), machine, new Secret('machine-key'));

test.each<[string, KeyRing]>([
  ['the ring that sealed it', ring('one')],
  ['a ring that signs with a newer key', ring('two', 'one')],
])('a sealed key is opened by %s', (_name, keys) => {
  expect(openKey(keys, machine, sealed)?.reveal()).toBe('machine-key');
});

test('a sealed key shows nothing of itself, fits into a status, and is the same each time', () => {
  expect(sealed).toMatch(/^[\w-]+$/);
  expect(Buffer.from(sealed, 'base64url').includes('machine-key')).toBe(false);
  expect(sealKey(ring('one'), machine, new Secret('machine-key'))).toBe(sealed);
});

test('what is sealed for two machines, or of two keys, has no beginning in common', () => {
  const others = [
    sealKey(ring('one'), { ...machine, attempt: 2 }, new Secret('machine-key')),
    sealKey(ring('one'), machine, new Secret('machine-kez')),
  ];
  for (const other of others) expect(other.slice(0, 16)).not.toBe(sealed.slice(0, 16));
});

test.each<[string, KeyRing, MachineFacts, string]>([
  ['another installation', ring('two', 'three'), machine, sealed],
  ['another object', ring('one'), { ...machine, uid: 'v' }, sealed],
  ['another attempt', ring('one'), { ...machine, attempt: 2 }, sealed],
  ['another machine', ring('one'), { ...machine, instanceId: '8' }, sealed],
  [
    'one changed character',
    ring('one'),
    machine,
    sealed.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
  ],
  ['a text that was cut', ring('one'), machine, sealed.slice(0, -4)],
  ['a text too short for any key', ring('one'), machine, 'AAAA'],
  ['a text of other characters', ring('one'), machine, '{"key": "machine-key, in plain text, and long"}'],
  ['no text', ring('one'), machine, ''],
])('a sealed key is not opened for %s', (_name, keys, facts, text) => {
  expect(openKey(keys, facts, text)).toBeUndefined();
});
