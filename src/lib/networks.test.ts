import { describe, expect, test } from 'vitest';
import { machineAddressProblem, NETWORKS, networkSet } from './networks.ts';

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

const LOCAL = 'is a loopback, link-local, multicast or reserved address';
const MAPPED = 'is an IPv4 address written as IPv6';
const EMBEDDING = 'is an IPv6 address that leads to an IPv4 address';
const PRIVATE = 'is a private or cluster address';
const NONE = 'is no IP address';

describe('an address that a marketplace names for a machine', () => {
  test.each<[string, string]>([
    ['0.0.0.0', LOCAL],
    ['127.0.0.1', LOCAL],
    ['127.255.255.255', LOCAL],
    ['169.254.169.254', LOCAL],
    ['168.63.129.16', LOCAL],
    ['192.0.0.192', LOCAL],
    ['198.18.0.1', LOCAL],
    ['224.0.0.1', LOCAL],
    ['240.0.0.1', LOCAL],
    ['255.255.255.255', LOCAL],
    ['::', LOCAL],
    ['::1', LOCAL],
    ['0:0:0:0:0:0:0:1', LOCAL],
    ['0000:0000:0000:0000:0000:0000:0000:0001', LOCAL],
    ['100::1', LOCAL],
    ['fe80::1', LOCAL],
    ['FE80::A9FE:A9FE', LOCAL],
    ['febf::1', LOCAL],
    ['fec0::1', LOCAL],
    ['feff::1', LOCAL],
    ['ff02::1', LOCAL],
    ['::ffff:127.0.0.1', MAPPED],
    ['::ffff:169.254.169.254', MAPPED],
    ['::FFFF:a9fe:a9fe', MAPPED],
    ['0:0:0:0:0:ffff:a9fe:a9fe', MAPPED],
    ['::ffff:10.0.0.1', MAPPED],
    ['::ffff:93.184.216.34', MAPPED],
    ['::7f00:1', EMBEDDING],
    ['::127.0.0.1', EMBEDDING],
    ['::a9fe:a9fe', EMBEDDING],
    ['64:ff9b::a9fe:a9fe', EMBEDDING],
    ['64:ff9b:1::1', EMBEDDING],
    ['2001::1', EMBEDDING],
    ['2001:0:ffff::1', EMBEDDING],
    ['2002:7f00:1::', EMBEDDING],
    ['fe80::1%eth0', NONE],
    ['2606:4700::1%eth0', NONE],
    ['localhost', NONE],
    ['metadata.internal', NONE],
    ['127.1', NONE],
    ['0x7f000001', NONE],
    ['2130706433', NONE],
    ['[::1]', NONE],
    ['', NONE],
  ])('%s is refused, whatever the settings are', (address, problem) => {
    expect(machineAddressProblem(address, { allowPrivate: false })).toBe(problem);
    expect(machineAddressProblem(address, { allowPrivate: true })).toBe(problem);
  });

  test.each([
    '10.0.0.1',
    '10.96.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '100.100.100.200',
    'fc00::1',
    'fd00:ec2::254',
  ])('%s is refused unless --allow-private-addresses opens it', (address) => {
    expect(machineAddressProblem(address, { allowPrivate: false })).toBe(PRIVATE);
    expect(machineAddressProblem(address, { allowPrivate: true })).toBeUndefined();
  });

  // Neighbours of refused addresses, public addresses, and those of simulated machines.
  test.each([
    ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.128.0.0', '126.255.255.255', '128.0.0.1'],
    ...['168.63.129.15', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0'],
    ...['223.255.255.255', '93.184.216.34', '203.0.113.5', '2001:db8::1'],
    ...['2606:4700::1', '2001:1::1', '2003::1', 'fbff::1', 'fe7f::1', '64:ff9b:2::1'],
  ])('%s may be published, asked and probed', (address) => {
    expect(machineAddressProblem(address, { allowPrivate: false })).toBeUndefined();
  });
});
