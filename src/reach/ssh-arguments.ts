import { bracketedHost } from '../lib/host-port.ts';
import { shellQuoted } from '../lib/shell.ts';
import type { SocketAddress } from './machine-addresses.ts';
import { ReachError } from './reach-error.ts';
import type { SshTarget } from './ssh-target.ts';

/** Login on a machine. */
export interface Login {
  readonly user: string;
  /** File of the private key. */
  readonly identity: string | undefined;
  /** File of the machine's host key; its folder exists. */
  readonly knownHosts: string;
}

/** Seconds for the connection and the SSH handshake together. */
export const CONNECT_TIMEOUT_SECONDS = 15;

/** Options that notice a connection without an answer within a minute. */
export const NOTICE_CUTS: readonly string[] = [
  ...['-o', 'ServerAliveInterval=15'],
  ...['-o', 'ServerAliveCountMax=3'],
];

/** Returns the user's name if ssh reads it as a name. Throws a `ReachError` for any other text. */
export function userName(text: string): string {
  if (/^[A-Za-z0-9_][-A-Za-z0-9_.]*$/.test(text)) return text;
  throw new ReachError('input', `--user: "${text}" is not a name of a user.`);
}

/** Options of ssh, and of scp and rsync through it: everything but the destination. */
export function sshOptions(
  { port }: Pick<SocketAddress, 'port'>,
  { identity, knownHosts }: Login,
): readonly string[] {
  return [
    ...['-p', String(port)],
    ...(identity === undefined ? [] : ['-i', identity]),
    ...['-o', `ConnectTimeout=${CONNECT_TIMEOUT_SECONDS}`],
    ...['-o', 'StrictHostKeyChecking=accept-new'],
    ...['-o', `UserKnownHostsFile=${configValue(knownHosts)}`],
  ];
}

/** Arguments of ssh for a shell, or for words that the shell of the machine reads. */
export function shellArguments(
  target: SocketAddress,
  login: Login,
  remote: readonly string[],
): readonly string[] {
  return [...sshOptions(target, login), destination(target, login), ...remote];
}

/** Streams of a program on a machine. */
export interface RemoteStreams {
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** Arguments of ssh for a program on a machine, each word as one argument. A shell if there are no words. */
export function execArguments(
  target: SocketAddress,
  login: Login,
  { words, stdin, tty }: RemoteStreams & { readonly words: readonly string[] },
): readonly string[] {
  return [
    ...quietOptions(target, login),
    tty ? '-tt' : '-T',
    ...(stdin ? [] : ['-n']),
    destination(target, login),
    ...(words.length === 0 ? [] : ['--', words.map(shellQuoted).join(' ')]),
  ];
}

/** A local port and a port of the machine. */
export interface PortPair {
  readonly local: number;
  readonly remote: number;
}

/** Local ports that are forwarded to ports of a machine. */
export interface Forwarding {
  readonly ports: readonly PortPair[];
  /** Local address that listens. */
  readonly address: string;
}

/** Arguments of ssh that forward local ports to a machine. ssh prints a line for each once it is connected. */
export function forwardArguments(
  target: SshTarget,
  login: Login,
  { ports, address }: Forwarding,
): readonly string[] {
  const notices = ports.map(
    ({ local, remote }) => `Forwarding ${address}:${local} to port ${remote} of ${target.shown}`,
  );
  return [
    // At this level ssh reports a connection that the machine refuses.
    ...[...sshOptions(target, login), ...NOTICE_CUTS, '-o', 'LogLevel=INFO'],
    ...['-o', 'ExitOnForwardFailure=yes', '-N', '-T', '-n'],
    // These words contain no character that a shell or ssh interprets.
    ...['-o', 'PermitLocalCommand=yes'],
    ...['-o', `LocalCommand=printf '%%s\\n' ${notices.map(shellQuoted).join(' ')}`],
    ...ports.flatMap(({ local, remote }) => ['-L', `${bracketedHost(address)}:${local}:127.0.0.1:${remote}`]),
    destination(target, login),
  ];
}

const MAX_PORT = 65_535;

/** `8080:80`, or one number for both. Throws a `ReachError` for any other text. */
export function portPair(text: string): PortPair {
  const [, local = '', remote = local] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const pair = { local: Number(local), remote: Number(remote) };
  const isPort = (port: number): boolean => port >= 1 && port <= MAX_PORT;
  if (local !== '' && isPort(pair.local) && isPort(pair.remote)) return pair;
  throw new ReachError(
    'input',
    `"${text}" is not a pair of ports.`,
    'Write LOCAL:REMOTE from 1 to 65535, such as 8080:80, or one number.',
  );
}

/** Returns an address to listen on. Throws a `ReachError` for a text that ssh could read as something else. */
export function listenAddress(text: string): string {
  if (/^[A-Za-z0-9.:-]+$/.test(text)) return text;
  throw new ReachError(
    'input',
    `--address: "${text}" is not an address.`,
    'Write an IP address of this machine.',
  );
}

/** Names in a configuration file of ssh, and the machine that they address. */
export interface HostEntry {
  readonly names: readonly string[];
  readonly target: SocketAddress;
  readonly login: Login;
}

/** Returns an entry of an ssh configuration file. */
export function hostEntry({ names, target, login: { user, identity, knownHosts } }: HostEntry): string {
  return [
    `Host ${names.join(' ')}`,
    `  HostName ${target.host}`,
    `  Port ${target.port}`,
    `  User ${user}`,
    ...(identity === undefined ? [] : [`  IdentityFile ${configValue(identity)}`, '  IdentitiesOnly yes']),
    `  UserKnownHostsFile ${configValue(knownHosts)}`,
    '  StrictHostKeyChecking accept-new',
    `  ConnectTimeout ${CONNECT_TIMEOUT_SECONDS}`,
    '  ServerAliveInterval 15',
    '  ServerAliveCountMax 3',
  ].join('\n');
}

/** Options of a connection without a person: no greeting, and an end if the machine does not answer. */
function quietOptions(target: SocketAddress, login: Login): readonly string[] {
  return [...sshOptions(target, login), ...NOTICE_CUTS, '-o', 'LogLevel=ERROR'];
}

const destination = ({ host }: SocketAddress, { user }: Login): string => `${user}@${host}`;

/** Returns a path in the syntax of an ssh configuration file: a space would end it, and % begins a token. */
function configValue(path: string): string {
  const escaped = path.replaceAll('%', '%%');
  return /[\s"#]/.test(path) ? `"${escaped.replaceAll('"', '\\"')}"` : escaped;
}
