import { expect, test } from 'vitest';
import { dial } from './dial.ts';

const none = (address: string): string => address;
const simulated = (address: string): string => (address === '10.0.0.7' ? '127.0.0.1' : address);

test.each([
  ['a public address', '203.0.113.7', none, false, { host: '203.0.113.7' }],
  [
    'a private address of the own network',
    '10.0.0.7',
    none,
    false,
    { problem: 'is a private or cluster address' },
  ],
  ['a private address that the settings allow', '10.0.0.7', none, true, { host: '10.0.0.7' }],
  ['an address of a simulated machine', '10.0.0.7', simulated, false, { host: '127.0.0.1' }],
  ['a name', 'example.com', none, true, { problem: 'is no IP address' }],
])('decides where to connect to for %s', (_what, address, mapAddress, allowPrivate, expected) => {
  expect(dial(address, { mapAddress, allowPrivate })).toEqual(expected);
});
