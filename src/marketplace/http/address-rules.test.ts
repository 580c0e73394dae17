import { describe, expect, test } from 'vitest';
import { bareHost, createAddressRules } from './address-rules.ts';

const rules = createAddressRules();

describe('an address behind a public name', () => {
  // The first and the last of each range, and its neighbours on both sides where those are public.
  test.each([
    ['this network', ['0.0.0.0', '0.255.255.255'], ['1.0.0.0']],
    ['private', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0']],
    ['shared by carriers', ['100.64.0.0', '100.127.255.255'], ['100.63.255.255', '100.128.0.0']],
    ['loopback', ['127.0.0.0', '127.255.255.255'], ['126.255.255.255', '128.0.0.0']],
    [
      'link-local, with its metadata service',
      ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
      ['169.253.255.255', '169.255.0.0'],
    ],
    ['private, too', ['172.16.0.0', '172.31.255.255'], ['172.15.255.255', '172.32.0.0']],
    ['for protocols', ['192.0.0.0', '192.0.0.255'], ['191.255.255.255', '192.0.1.0']],
    ['for documentation, first', ['192.0.2.0', '192.0.2.255'], ['192.0.1.255', '192.0.3.0']],
    ['private, third', ['192.168.0.0', '192.168.255.255'], ['192.167.255.255', '192.169.0.0']],
    ['for benchmarks', ['198.18.0.0', '198.19.255.255'], ['198.17.255.255', '198.20.0.0']],
    ['for documentation, second', ['198.51.100.0', '198.51.100.255'], ['198.51.99.255', '198.51.101.0']],
    ['for documentation, third', ['203.0.113.0', '203.0.113.255'], ['203.0.112.255', '203.0.114.0']],
    [
      'for many at once, or reserved',
      ['224.0.0.0', '239.255.255.255', '240.0.0.0', '255.255.255.255'],
      ['223.255.255.255'],
    ],
    ['unspecified or loopback of IPv6', ['::', '::1'], []],
    ['a translation of IPv4', ['64:ff9b::a00:1', '64:ff9b:1::1'], ['64:ff9b:2::1']],
    ['IPv4 within IPv6', ['::7f00:1', '::10.0.0.1', '::ffff:ffff'], ['0:0:0:0:1::1']],
    ['Teredo', ['2001::1', '2001:0:ffff::1'], ['2001:1::1']],
    ['of a site', ['fec0::1', 'feff::1'], []],
    ['discarded', ['100::', '100::ffff:ffff:ffff:ffff'], ['100:0:0:1::']],
    ['for documentation in IPv6', ['2001:db8::', '2001:db8:ffff::1'], ['2001:db7:ffff::1', '2001:db9::']],
    ['6to4', ['2002::', '2002:a00:1::'], ['2001:ffff::1', '2003::']],
    ['private in IPv6', ['fc00::', 'fdff::1'], ['fbff::1']],
    ['link-local in IPv6', ['fe80::', 'febf::1'], ['fe7f::1']],
    ['for many at once in IPv6', ['ff00::', 'ffff::1'], []],
    ['IPv4 in the clothes of IPv6', ['::ffff:10.0.0.1', '::ffff:169.254.169.254'], ['::ffff:93.184.216.34']],
  ] as const)('that is %s is refused, its public neighbours are not', (_, inside, outside) => {
    for (const address of inside)
      expect(rules.refuseAddress('market.example', address), address).toBeDefined();
    for (const address of outside)
      expect(rules.refuseAddress('market.example', address), address).toBeUndefined();
  });

  test('is let through where its network is allowed, and that one alone', () => {
    const wider = createAddressRules(['10.1.0.0/16', 'fd00::/8']);
    expect(wider.refuseAddress('market.example', '10.1.2.3')).toBeUndefined();
    expect(wider.refuseAddress('market.example', 'fd12::1')).toBeUndefined();
    expect(wider.refuseAddress('market.example', '10.2.0.1')).toMatch(/not public/);
  });

  test.each(['localhost', '127.0.0.1', '::1'])('of %s may be this machine and no other', (host) => {
    expect(rules.refuseAddress(host, '127.0.0.1')).toBeUndefined();
    expect(rules.refuseAddress(host, '::1')).toBeUndefined();
    expect(rules.refuseAddress(host, '93.184.216.34')).toMatch(/another machine/);
  });
});

describe('an origin', () => {
  const refusal = (text: string) => rules.refuseOrigin(new URL(text));

  test.each([
    'https://market.example',
    'https://93.184.216.34',
    'http://localhost:8080',
    'http://[::1]:80',
    'http://127.0.0.1',
  ])('%s may be asked', (origin) => {
    expect(refusal(origin)).toBeUndefined();
  });

  test.each([
    ['http://market.example', /https is required/],
    ['http://93.184.216.34', /https is required/],
    ['ftp://market.example', /only http and https/],
    ['https://10.0.0.1', /not public/],
    ['https://[fd00::1]', /not public/],
    ['https://[::ffff:a00:1]', /not public/],
  ])('%s may not be asked', (origin, why) => {
    expect(refusal(origin)).toMatch(why);
  });

  test('names an IPv6 address without its brackets', () => {
    expect([bareHost('[::1]'), bareHost('market.example')]).toEqual(['::1', 'market.example']);
  });
});
