import { describe, expect, test } from 'vitest';
import { Secret } from '../lib/secret.ts';
import { type KeyRing, macVerifies, signMac } from './key-ring.ts';

const ring = (...keys: [string, ...string[]]): KeyRing => {
  const [first, ...rest] = keys;
  return [new Secret(first), ...rest.map((key) => new Secret(key))];
};
const PARTS = ['login', '42'];
/** More than are remembered. */
const MANY = 10_000;

describe('a code', () => {
  test('is that of RFC 2104 over purpose and parts, cut to 80 bits', () => {
    expect(signMac(ring('key'), 'label', PARTS)).toBe('4d7f4b72bbd1d2ac5602');
  });

  test('verifies under its ring, however often it is asked for', () => {
    const keys = ring('one');
    const mac = signMac(keys, 'label', PARTS);
    for (let time = 0; time < 3; time += 1)
      expect(macVerifies(keys, 'label', { parts: PARTS, mac })).toBe(true);
  });

  test.each<[string, KeyRing, 'label' | 'claim', readonly string[]]>([
    ['another purpose', ring('one'), 'claim', PARTS],
    ['other parts', ring('one'), 'label', ['login', '43']],
    ['parts cut elsewhere', ring('one'), 'label', ['login42']],
    ['another key', ring('two'), 'label', PARTS],
  ])('does not verify for %s, once it was made', (_name, keys, purpose, parts) => {
    const mac = signMac(ring('one'), 'label', PARTS);
    signMac(keys, 'label', PARTS);
    expect(macVerifies(keys, purpose, { parts, mac })).toBe(false);
  });

  test('of an older key verifies as long as the ring holds that key', () => {
    const mac = signMac(ring('old'), 'label', PARTS);
    expect(macVerifies(ring('new', 'old'), 'label', { parts: PARTS, mac })).toBe(true);
    expect(macVerifies(ring('new'), 'label', { parts: PARTS, mac })).toBe(false);
  });

  test('is the same after many others', { tags: 'long' }, () => {
    const keys = ring('one');
    const mac = signMac(keys, 'label', PARTS);
    for (let index = 0; index < MANY; index += 1) signMac(keys, 'label', [String(index)]);
    expect(signMac(keys, 'label', PARTS)).toBe(mac);
  });

  test.each([
    '',
    'xyz',
    '4D7F4B72BBD1D2AC5602',
    '4d7f4b72bbd1d2ac560',
    '4d7f4b72bbd1d2ac56020',
    '4d7f4b72bbd1d2ac560é',
    'éd7f4b72bbd1d2ac5602',
  ])('is not %j: that verifies nothing', (mac) => {
    expect(macVerifies(ring('key'), 'label', { parts: PARTS, mac })).toBe(false);
  });
});
