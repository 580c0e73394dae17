import { describe, expect, test } from 'vitest';
import { networkAt, overlap } from './network.ts';

describe('the network of a node', () => {
  test.for([
    ['10.96.0.0/16', '10.96.255.1', true],
    ['10.96.0.0/16', '10.97.0.0/16', false],
    ['10.96.0.0/12', '10.97.0.0/16', true],
    ['10.97.3.0/24', '10.96.0.0/12', true],
    ['192.168.0.0/16', '10.96.0.0/12', false],
    ['0.0.0.0/0', '10.96.0.0/12', true],
    ['10.96.0.1', '10.96.0.1/32', true],
    ['10.96.0.1', '10.96.0.2', false],
    ['255.255.255.255', '127.0.0.0/8', false],
  ] as const)('%s and %s have an address in common: %s', ([one, other, expected]) => {
    expect(overlap(one, other)).toBe(expected);
    expect(overlap(other, one)).toBe(expected);
  });

  test('is apart from those of all other nodes', () => {
    const all = Array.from({ length: 16 }, (_, index) => networkAt(index));
    expect(new Set(all.map(({ interfaceName }) => interfaceName)).size).toBe(16);
    for (const one of all) for (const other of all) expect(overlap(one.all, other.all)).toBe(one === other);
  });

  test('holds its Services, its Pods and both ends of the link, which are apart', () => {
    const { all, services, pods, hostAddress, nodeAddress, dnsAddress } = networkAt(3);
    for (const part of [services, pods, hostAddress, nodeAddress, dnsAddress])
      expect(overlap(all, part)).toBe(true);
    expect(overlap(services, pods)).toBe(false);
    expect(overlap(services, dnsAddress)).toBe(true);
    for (const end of [hostAddress, nodeAddress])
      for (const part of [services, pods]) expect(overlap(end, part)).toBe(false);
  });

  test('has interface names of at most 15 characters, which is the limit of Linux', () => {
    expect(networkAt(15).interfaceName.length).toBeLessThanOrEqual(15);
  });
});
