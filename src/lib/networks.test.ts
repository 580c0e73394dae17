import { describe, expect, test } from 'vitest';
import { NETWORKS, networkSet } from './networks.ts';

describe('a set of networks', () => {
  const has = networkSet(['10.0.0.0/8', 'fd00::/8', '192.0.2.7/32']);

  test.each<[string, boolean]>([
    ['10.0.0.0', true],
    ['10.255.255.255', true],
    ['11.0.0.0', false],
    ['192.0.2.7', true],
    ['192.0.2.8', false],
    ['fd12::1', true],
    ['FD12:0:0:0:0:0:0:1', true],
    ['fe00::1', false],
    ['::ffff:10.0.0.1', true],
    ['0:0:0:0:0:ffff:a00:1', true],
    ['::ffff:11.0.0.1', false],
    ['ten.example', false],
    ['', false],
  ])('says of %s: %s', (address, expected) => {
    expect(has(address)).toBe(expected);
  });

  test('holds nothing where it names no network', () => {
    expect(networkSet([])('10.0.0.1')).toBe(false);
  });

  test.each([
    '',
    '/',
    '/8',
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/x',
    'ten/8',
    '10.0.0.0/0008',
    '10.0.0.0/8x',
    '10.0.0.10',
    '10.0.0.0/8/8',
  ])('refuses the network "%s" by name', (network) => {
    expect(() => networkSet([network])).toThrow(`"${network}" is no network: write it as address/bits`);
  });

  test('is made of every list of special networks', () => {
    for (const [name, networks] of Object.entries(NETWORKS))
      for (const network of networks) {
        const [address = ''] = network.split('/');
        expect(networkSet(networks)(address), `${name} ${network}`).toBe(true);
      }
  });
});
