import { expect, test } from 'vitest';
import { spec } from '../../test/builders/observed.ts';
import {
  connectionAddress,
  machineAddresses,
  openPortsText,
  portAddress,
  tcpPortAddress,
} from './machine-addresses.ts';

const declared = spec({ ports: [{ name: 'http', containerPort: 8080 }, { containerPort: 9000 }] });
const listed = { publicAddress: '203.0.113.7', ports: { '22/tcp': 40_022, '8080/tcp': 40_080 } };

test('names SSH as the endpoint of a machine, and the first mapped port without SSH', () => {
  expect(machineAddresses({ ...listed, sshHost: 'ssh5.example', sshPort: 22_222 }, declared)).toEqual({
    publicAddress: '203.0.113.7',
    ssh: { host: 'ssh5.example', port: 22_222 },
    endpoint: 'ssh5.example:22222',
    ports: [
      { containerPort: 22, protocol: 'TCP', publicPort: 40_022 },
      { name: 'http', containerPort: 8080, protocol: 'TCP', publicPort: 40_080 },
    ],
  });
  expect(machineAddresses(listed, declared).endpoint).toBe('203.0.113.7:40022');
});

test('puts an IPv6 address in brackets in the endpoint and in open ports', () => {
  const addresses = machineAddresses({ ...listed, publicAddress: '2001:db8::7' }, declared);
  expect(addresses.endpoint).toBe('[2001:db8::7]:40022');
  expect(openPortsText(addresses)).toBe('22=[2001:db8::7]:40022 http=[2001:db8::7]:40080');
});

test('names no endpoint and no port of a machine that has no address yet', () => {
  const addresses = machineAddresses({ ports: { '22/tcp': 40_022 } }, declared);
  expect(addresses).not.toHaveProperty('endpoint');
  expect(connectionAddress(addresses)).toEqual({ port: 40_022 });
  expect(openPortsText(addresses)).toBe('');
});

test.each([
  ['a port by its name', 'http', { host: '203.0.113.7', port: 40_080 }],
  ['a port by its number', 8080, { host: '203.0.113.7', port: 40_080 }],
  ['a port that the machine does not map', 9000, undefined],
  ['a port that the spec does not declare, by SSH', 22, { host: 'ssh5.example', port: 22_222 }],
])('finds the address of %s', (_what, port, expected) => {
  const status = machineAddresses({ ...listed, sshHost: 'ssh5.example', sshPort: 22_222 }, declared);
  expect(portAddress({ spec: declared, status: status as never }, port)).toEqual(expected);
});

test.each([
  ['of the first declared TCP port', undefined, 40_080],
  ['of a port by its name', 'admin', 49_000],
  ['of a port by its number', 9000, 49_000],
  ['of a number that the spec does not declare', 22, 40_022],
  ['of an identity port by its name', 'p2p', 41_234],
  ['of no UDP port', 'stun', undefined],
  ['of no port that the machine does not map', 7000, undefined],
])('finds the TCP address %s', (_what, port, publicPort) => {
  const ports = [
    { name: 'stun', containerPort: 9, protocol: 'UDP' as const },
    { name: 'http', containerPort: 8080 },
    { name: 'admin', containerPort: 9000 },
    { name: 'p2p', containerPort: 70_000 },
  ];
  const mapped = {
    '9/udp': 40_009,
    '22/tcp': 40_022,
    '8080/tcp': 40_080,
    '9000/tcp': 49_000,
    '41234/tcp': 41_234,
  };
  const object = spec({ ports });
  const status = machineAddresses({ publicAddress: '203.0.113.7', ports: mapped }, object);
  const expected = publicPort === undefined ? undefined : { host: '203.0.113.7', port: publicPort };
  expect(tcpPortAddress({ spec: object, status: status as never }, port)).toEqual(expected);
});
