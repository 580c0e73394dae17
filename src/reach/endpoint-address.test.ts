import { expect, test } from 'vitest';
import { endpointAddress } from './endpoint-address.ts';

test.each([
  ['a public IPv4 address', '203.0.113.7', { address: '203.0.113.7', addressType: 'IPv4' }],
  ['a public IPv6 address', '2606:4700::1', { address: '2606:4700::1', addressType: 'IPv6' }],
  ['a private address', '10.0.0.7', { problem: 'is a private or cluster address' }],
  ['a host name', 'ssh5.example', { problem: 'is no IP address' }],
])('decides for %s whether a slice may contain it', (_what, address, expected) => {
  expect(endpointAddress(address, { allowPrivate: false })).toEqual(expected);
});
