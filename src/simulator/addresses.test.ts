import type { NetworkInterfaceInfo } from 'node:os';
import { describe, expect, test } from 'vitest';
import { controlPlace, isLoopback, reachableHost } from './addresses.ts';

const OUTER = '0.0.0.0';

describe('the place of the control endpoints', () => {
  test.each([
    ['127.0.0.1', {}, 'shared'],
    ['::1', {}, 'shared'],
    ['127.0.0.1', { port: 8088 }, 'shared'],
    ['127.0.0.1', { port: 9 }, { host: '127.0.0.1', port: 9 }],
    ['127.0.0.1', { port: 0 }, { host: '127.0.0.1', port: 0 }],
    ['127.0.0.1', { host: OUTER }, { host: OUTER, port: 0 }],
    [OUTER, {}, { host: '127.0.0.1', port: 0 }],
    [OUTER, { port: 9 }, { host: '127.0.0.1', port: 9 }],
    [OUTER, { port: 8088 }, { host: '127.0.0.1', port: 8088 }],
    [OUTER, { host: OUTER }, 'shared'],
    [OUTER, { host: OUTER, port: 9 }, { host: OUTER, port: 9 }],
    ['192.0.2.7', {}, { host: '127.0.0.1', port: 0 }],
    ['::', {}, { host: '::1', port: 0 }],
    ['fd00::7', {}, { host: '::1', port: 0 }],
  ])('beside a marketplace at %s, with %j, is %j', (host, requested, place) => {
    expect(controlPlace({ host, port: 8088 }, requested)).toEqual(place);
  });

  test('is a free port of its own when the marketplace has any free port and the same was asked for', () => {
    expect(controlPlace({ host: '127.0.0.1', port: 0 }, { port: 0 })).toEqual({ host: '127.0.0.1', port: 0 });
  });
});

test.each([
  ['127.0.0.1', true],
  ['127.3.2.1', true],
  ['::1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['::ffff:127.0.0.1', false],
  ['127.example', false],
])('only this machine reaches %s: %s', (host, own) => {
  expect(isLoopback(host)).toBe(own);
});

describe('the address in the URL', () => {
  const at = (address: string, internal = false) =>
    ({ address, internal, family: address.includes(':') ? 'IPv6' : 'IPv4' }) as NetworkInterfaceInfo;
  const loopback = { lo: [at('127.0.0.1', true), at('::1', true)] };
  const dual = { ...loopback, eth0: [at('fe80::1'), at('fd00::2'), at('192.0.2.2')] };
  const six = { ...loopback, eth0: [at('fe80::1'), at('fd00::2')] };

  test.each([
    ['127.0.0.1', dual, '127.0.0.1'],
    ['::1', dual, '[::1]'],
    ['0.0.0.0', dual, '192.0.2.2'],
    ['0.0.0.0', six, '127.0.0.1'],
    ['0.0.0.0', loopback, '127.0.0.1'],
    ['::', dual, '192.0.2.2'],
    ['::', six, '[fd00::2]'],
    ['::', loopback, '[::1]'],
  ])('of what listens on %s among %j is %s', (host, interfaces, reachable) => {
    expect(reachableHost(host, interfaces)).toBe(reachable);
  });
});
