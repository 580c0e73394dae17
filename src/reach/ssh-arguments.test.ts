import { describe, expect, test } from 'vitest';
import {
  execArguments,
  forwardArguments,
  hostEntry,
  listenAddress,
  portPair,
  shellArguments,
  userName,
} from './ssh-arguments.ts';

const target = { host: '203.0.113.7', port: 40_022, shown: 'gpui/trainer', keyName: 'k', instanceId: '7' };
const login = { user: 'root', identity: '/keys/a b', knownHosts: '/cache/100%/known hosts' };
const OPTIONS = [
  ...['-p', '40022', '-i', '/keys/a b', '-o', 'ConnectTimeout=15'],
  ...['-o', 'StrictHostKeyChecking=accept-new', '-o', 'UserKnownHostsFile="/cache/100%%/known hosts"'],
];
const QUIET = ['-o', 'ServerAliveInterval=15', '-o', 'ServerAliveCountMax=3', '-o', 'LogLevel=ERROR'];

test('gives a shell the words as they are, and a program each word as one argument', () => {
  expect(shellArguments(target, login, ['ls', '*'])).toEqual([...OPTIONS, 'root@203.0.113.7', 'ls', '*']);
  const words = ['sh', '-c', 'ls *'];
  expect(execArguments(target, login, { words, stdin: false, tty: false })).toEqual([
    ...[...OPTIONS, ...QUIET, '-T', '-n', 'root@203.0.113.7', '--', "sh -c 'ls *'"],
  ]);
  expect(execArguments(target, login, { words: [], stdin: true, tty: true }).slice(-2)).toEqual([
    '-tt',
    'root@203.0.113.7',
  ]);
});

test('forwards each port from the local address, with a line once it is connected', () => {
  const ports = [
    { local: 8080, remote: 80 },
    { local: 6006, remote: 6006 },
  ];
  const args = forwardArguments(target, login, { ports, address: '::1' });
  expect(args.filter((_arg, at) => args[at - 1] === '-L')).toEqual([
    '[::1]:8080:127.0.0.1:80',
    '[::1]:6006:127.0.0.1:6006',
  ]);
  expect(args.find((arg) => arg.startsWith('LocalCommand='))).toBe(
    `LocalCommand=printf '%%s\\n' 'Forwarding ::1:8080 to port 80 of gpui/trainer' 'Forwarding ::1:6006 to port 6006 of gpui/trainer'`,
  );
});

test('writes an entry that the configuration of ssh reads as one host', () => {
  expect(hostEntry({ names: ['trainer.team', 'trainer'], target, login }).split('\n')).toEqual([
    'Host trainer.team trainer',
    '  HostName 203.0.113.7',
    '  Port 40022',
    '  User root',
    '  IdentityFile "/keys/a b"',
    '  IdentitiesOnly yes',
    '  UserKnownHostsFile "/cache/100%%/known hosts"',
    '  StrictHostKeyChecking accept-new',
    '  ConnectTimeout 15',
    '  ServerAliveInterval 15',
    '  ServerAliveCountMax 3',
  ]);
});

describe('texts of people', () => {
  test.each([
    ['8080:80', { local: 8080, remote: 80 }],
    ['8888', { local: 8888, remote: 8888 }],
  ])('reads %s as a pair of ports', (text, pair) => {
    expect(portPair(text)).toEqual(pair);
  });

  test.each(['', '0', '65536', '80:', ':80', '1:2:3', 'http'])('refuses %j as a pair of ports', (text) => {
    expect(() => portPair(text)).toThrow('is not a pair of ports');
  });

  test('refuses a user or an address that ssh could read as something else', () => {
    expect(userName('_svc-1')).toBe('_svc-1');
    for (const text of ['-oX', 'a b', '']) expect(() => userName(text)).toThrow('--user');
    expect(listenAddress('::1')).toBe('::1');
    for (const text of ['a b', '[::1]', '']) expect(() => listenAddress(text)).toThrow('--address');
  });
});
