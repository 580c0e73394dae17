import { shellQuoted } from '../../lib/shell.ts';
import type { Command } from '../command.ts';
import { usageError } from '../command-error.ts';
import { loginTo, NOTICE_CUTS, reachMachine, SSH_OPTIONS, sshOptions } from '../machine/reach.ts';
import { runSsh } from '../machine/run-ssh.ts';
import { textOption } from '../option-values.ts';

/** Leads ports of this machine to ports of a rented one, by SSH. */
export const portForwardCommand: Command = {
  description:
    'By SSH, so that the port needs no mapping and is open to this machine alone. It runs until Ctrl-C, and ends with an error if a local port is taken or the connection is lost.',
  examples: [
    'gpu-rent port-forward gpui/notebook 8888',
    'gpu-rent port-forward gpui/trainer 8080:80 6006',
    'gpu-rent port-forward gpui/trainer 8888 --address 0.0.0.0',
  ],
  args: [
    { name: '<target>', description: 'gpui/name, or the id of an instance.' },
    { name: '<port...>', description: 'LOCAL:REMOTE, or one number for both.' },
  ],
  options: [
    ...SSH_OPTIONS,
    { flags: '--address <address>', description: 'Where this machine listens. Default: 127.0.0.1.' },
  ],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const [target = '', ...texts] = input.args;
    const ports = texts.map(portPair);
    const address = listenAddress(textOption(input.options, '--address') ?? '127.0.0.1');
    const asked = { input, context };
    const machine = await reachMachine(target, asked);
    const login = await loginTo(machine, asked);
    const notices = ports.map(
      ({ local, remote }) => `Forwarding ${address}:${local} to port ${remote} of ${machine.shown}`,
    );
    const args = [
      ...sshOptions(machine, login),
      ...NOTICE_CUTS,
      ...['-o', 'LogLevel=ERROR', '-o', 'ExitOnForwardFailure=yes', '-N', '-T', '-n'],
      // Printed by ssh once it is connected; the words hold no sign that a shell or ssh reads otherwise.
      ...[
        '-o',
        'PermitLocalCommand=yes',
        '-o',
        `LocalCommand=printf '%%s\\n' ${notices.map(shellQuoted).join(' ')}`,
      ],
      ...ports.flatMap(({ local, remote }) => ['-L', `${bracketed(address)}:${local}:127.0.0.1:${remote}`]),
      `${login.user}@${machine.host}`,
    ];
    return runSsh(args, { machine, stdin: false, asked });
  },
};

interface PortPair {
  readonly local: number;
  readonly remote: number;
}

const MAX_PORT = 65_535;

/** `8080:80`, or one number for both. Throws a usage error for any other text. */
export function portPair(text: string): PortPair {
  const [, local = '', remote = local] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const pair = { local: Number(local), remote: Number(remote) };
  const isPort = (port: number): boolean => port >= 1 && port <= MAX_PORT;
  if (local !== '' && isPort(pair.local) && isPort(pair.remote)) return pair;
  throw usageError(
    `"${text}" is not a pair of ports.`,
    'Write LOCAL:REMOTE from 1 to 65535, such as 8080:80, or one number.',
  );
}

function listenAddress(text: string): string {
  if (/^[A-Za-z0-9.:-]+$/.test(text)) return text;
  throw usageError(`--address: "${text}" is not an address.`, 'Write an IP address of this machine.');
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
