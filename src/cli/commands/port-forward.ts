import { forwardArguments, listenAddress, portPair } from '../../reach/ssh-arguments.ts';
import type { Command } from '../command.ts';
import { loginTo, reachMachine, SSH_OPTIONS } from '../machine/reach.ts';
import { runSsh } from '../machine/run-ssh.ts';
import { textOption } from '../option-values.ts';

/** Forwards local ports to a rented machine, by SSH. */
export const portForwardCommand: Command = {
  description:
    'Uses SSH, so the port needs no mapping and is open to this machine alone. It runs until Ctrl-C, and ends with an error if a local port is taken or the connection is lost. A connection to a port at which nothing listens on the machine is closed, and reported as "open failed".',
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
    { flags: '--address <address>', description: 'Local listen address. Default: 127.0.0.1.' },
  ],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const [target = '', ...texts] = input.args;
    const ports = texts.map(portPair);
    const address = listenAddress(textOption(input.options, '--address') ?? '127.0.0.1');
    const asked = { input, context };
    const machine = await reachMachine(target, asked);
    const login = await loginTo(machine, asked);
    const args = forwardArguments(machine, login, { ports, address });
    return runSsh(args, { machine, stdin: false, asked });
  },
};
