import { expect, test } from 'vitest';
import { clientAddress } from './client-address.ts';

test.each([
  ['203.0.113.5', 0, '203.0.113.5'],
  ['198.51.100.1, 203.0.113.5', 0, '203.0.113.5'],
  ['198.51.100.1, 203.0.113.5', 1, '198.51.100.1'],
  ['203.0.113.5', 1, '203.0.113.5'],
  ['2001:db8:1:2:3:4:5:6', 0, '2001:db8:1:2::/64'],
  ['2001:0db8:1:2::9', 0, '2001:db8:1:2::/64'],
  ['2001:db8::9', 0, '2001:db8:0:0::/64'],
  // Some load balancers add the port, others write an IPv4 address as IPv6.
  ['198.51.100.1:4711, 203.0.113.5', 1, '198.51.100.1'],
  ['[2001:db8:1:2::9]:4711, 203.0.113.5', 1, '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9], 203.0.113.5', 1, '2001:db8:1:2::/64'],
  ['::ffff:198.51.100.1, 203.0.113.5', 1, '198.51.100.1'],
  ['', 0, ''],
  [undefined, 0, ''],
])('takes of x-forwarded-for %s behind %i proxies the client %s', (header, hops, client) => {
  expect(clientAddress(header, hops)).toBe(client);
});
