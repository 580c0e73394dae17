import { shellQuoted } from '../../lib/shell.ts';
import { execArguments, type RemoteStreams, shellArguments } from '../../reach/ssh-arguments.ts';
import type { SshTarget } from '../../reach/ssh-target.ts';
import type { Command } from '../command.ts';
import { usageError } from '../command-error.ts';
import { type Asked, loginTo, reachMachine, SSH_OPTIONS } from '../machine/reach.ts';
import { runSsh } from '../machine/run-ssh.ts';
import { switchOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';

/** Opens a shell on a machine. */
export const sshCommand: Command = {
  description:
    'Runs the ssh of this machine. Host keys of rented machines are new each time: they are kept apart, in a file of their own per machine, and trusted at the first contact.',
  examples: [
    'gpu-rent ssh gpui/trainer',
    'gpu-rent ssh gpui/trainer -- nvidia-smi',
    'gpu-rent ssh 4711 --print',
  ],
  args: [
    { name: '<target>', description: 'gpui/name, or the id of an instance.' },
    { name: '[command...]', description: 'Behind --: run this instead of a shell.' },
  ],
  options: [...SSH_OPTIONS, { flags: '--print', description: 'Show the command instead of running it.' }],
  optionSets: ['output', 'cluster', 'marketplace'],
  async run(input, context) {
    const [target = '', ...remote] = input.args;
    const asked = { input, context };
    const machine = await reachMachine(target, asked);
    const login = await loginTo(machine, asked);
    const args = shellArguments(machine, login, remote);
    if (switchOption(input.options, '--print')) {
      const line = ['ssh', ...args].map(shellQuoted).join(' ');
      await createOutput(input, context).value(
        { host: machine.host, port: machine.port, command: line },
        line,
      );
      return 0;
    }
    return runSsh(args, { machine, stdin: true, asked });
  },
};

/** Runs a program on a machine. */
export const execCommand: Command = {
  description:
    'Each word after -- arrives there as one argument, whatever it contains: use sh -c for pipes and variables of the machine. Ends with the exit code of the program; 255 means that the connection failed or was cut.',
  examples: [
    'gpu-rent exec gpui/trainer -- nvidia-smi -L',
    'gpu-rent exec gpui/trainer -i -- tar -xf - -C /workspace',
    'gpu-rent exec gpui/trainer -it -- bash',
    "gpu-rent exec gpui/trainer -- sh -c 'du -sh /workspace/*'",
  ],
  args: [
    { name: '<target>', description: 'gpui/name, or the id of an instance.' },
    { name: '<command...>', description: 'Behind --: the program and its arguments.' },
  ],
  options: [
    { flags: '-i, --stdin', description: 'Forward stdin.' },
    { flags: '-t, --tty', description: 'Run it in a terminal.' },
    { flags: '--identity <file>', description: 'The private key. Default: GPU_RENT_SSH_IDENTITY.' },
    { flags: '--user <name>', description: 'Default: GPU_RENT_SSH_USER, root.' },
  ],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const [target = '', ...words] = input.args;
    const stdin = switchOption(input.options, '--stdin');
    const tty = switchOption(input.options, '--tty');
    if (tty && stdin && !context.stdin.isTTY)
      throw usageError('-t: stdin is no terminal.', 'Leave -t out, or -i.');
    const asked = { input, context };
    const machine = await reachMachine(target, asked);
    return execOn(machine, words, { stdin, tty, asked });
  },
};

interface Execution extends RemoteStreams {
  readonly asked: Asked;
}

/** Runs a program on a machine, each word as one argument; a shell without words. Resolves to its exit code. */
export async function execOn(
  machine: SshTarget,
  words: readonly string[],
  { stdin, tty, asked }: Execution,
): Promise<number> {
  const login = await loginTo(machine, asked);
  const args = execArguments(machine, login, { words, stdin, tty });
  return runSsh(args, { machine, stdin, asked });
}
