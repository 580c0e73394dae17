import { omitUndefined } from '../../lib/json.ts';
import { shellCommand } from '../../lib/shell.ts';
import type { RentRequest, VolumeRequest } from '../../markets/vast/instances/rent.ts';
import type { CommandContext, CommandInput, CommandOption, OptionValues } from '../command.ts';
import { usageError } from '../command-error.ts';
import {
  dollarsOption,
  listOption,
  numberOption,
  parseId,
  restOption,
  switchOption,
  textOption,
} from '../option-values.ts';
import { readSecretFile, readTextFile } from '../secrets/secret-input.ts';
import { containerFlags, portOf } from './container-flags.ts';
import { ARGS, imageArgs, imageOption } from './image-args.ts';

/** The options of a rental. */
export const RENT_OPTIONS: readonly CommandOption[] = [
  { flags: '--image <reference>', description: 'The container image.' },
  { flags: '--disk <gb>', description: 'GB of disk. Default: 10.' },
  {
    flags: '--label <label>',
    description: 'Default: a label of its own, by which the machine can be found.',
    mayBeEmpty: true,
  },
  {
    flags: '-e, --env <name=value>',
    description:
      "Environment variable of the container; a name alone takes the value from this shell. Also the marketplace's own form: '-e A=b -p 8000:8000'.",
    repeatable: true,
  },
  { flags: '--env-file <file>', description: 'Variables, one name=value per line.' },
  {
    flags: '-p, --port <port>',
    description: 'A port to open, 8080 or 53/udp; from 70000 on with the same number inside and outside.',
    repeatable: true,
  },
  {
    flags: '--onstart <file>',
    description: 'A script that runs at the start; - is stdin. A long one is packed.',
  },
  { flags: '--onstart-cmd <text>', description: 'The same as text.' },
  { flags: '--bid <dollars>', description: 'Rent interruptibly at this bid per hour.' },
  { flags: '--ssh', description: 'Use SSH through the proxy (default).' },
  { flags: '--direct', description: 'Use SSH directly.' },
  { flags: '--jupyter', description: 'Run Jupyter beside SSH.' },
  ARGS,
  { flags: '--login-file <file>', description: 'Registry login flags: -u user -p password registry.' },
  { flags: '--template-hash <hash>', description: 'Start from a template.' },
  { flags: '--volume <id:path>', description: 'Attach a volume of your own.' },
  { flags: '--cancel-unavail', description: 'Fail if it cannot start, instead of creating it stopped.' },
  { flags: '--force', description: "Skip the service's checks." },
];

/**
 * Returns the rent request of the options. Rejects with a usage error if they contradict each other or name no image.
 */
export async function rentRequest(input: CommandInput, context: CommandContext): Promise<RentRequest> {
  const { options } = input;
  const image = imageOption(options);
  const templateHashId = textOption(options, '--template-hash');
  if (image === undefined && templateHashId === undefined) {
    throw usageError('--image: an image is required.', 'Give --image, or --template-hash.');
  }
  const args = imageArgs(options, context);
  const onStart = await startScript(input, context);
  const bidPerHour = dollarsOption(options, '--bid');
  const login = textOption(options, '--login-file');
  const imageLogin = login === undefined ? undefined : await readSecretFile(login, '--login-file', context);
  const { variables, ports } = containerFlags(listOption(options, '--env'));
  const volume = volumeOf(textOption(options, '--volume'));
  return {
    diskGB: numberOption(options, '--disk', { min: 1 }) ?? 10,
    env: await environment(variables, input, context),
    ports: [...ports, ...listOption(options, '--port').map((port) => portOf(port, '--port'))],
    runType: runType(options),
    ...omitUndefined({ image, templateHashId, onStart, bidPerHour, imageLogin, volume, args }),
    ...(switchOption(options, '--cancel-unavail') ? { cancelUnavailable: true } : {}),
    ...(switchOption(options, '--force') ? { force: true } : {}),
  };
}

/** Returns the run type in the service's spelling. */
function runType(options: OptionValues): string {
  if (restOption(options, '--args') !== undefined) {
    const shell = ['--ssh', '--direct', '--jupyter'].find((flag) => switchOption(options, flag));
    if (shell === undefined) return 'args';
    throw usageError(
      `${shell} and --args exclude each other: SSH needs the marketplace's own entrypoint.`,
      `Leave one out, or run a program beside SSH: ${shell} -- PROGRAM`,
    );
  }
  const direct = switchOption(options, '--direct');
  if (switchOption(options, '--jupyter')) {
    return direct ? 'jupyter_direc ssh_direc ssh_proxy' : 'jupyter_proxy ssh_proxy';
  }
  return direct ? 'ssh_direc ssh_proxy' : 'ssh_proxy';
}

async function startScript(
  { args: [, ...command], options }: CommandInput,
  context: CommandContext,
): Promise<string | undefined> {
  const file = textOption(options, '--onstart');
  const text = textOption(options, '--onstart-cmd');
  if (file !== undefined && text !== undefined)
    throw usageError('--onstart and --onstart-cmd exclude each other.');
  if (command.length > 0 && (file ?? text) !== undefined)
    throw usageError(
      '--onstart and a command behind -- exclude each other: each is what the container runs.',
    );
  const given = command.length > 0 ? shellCommand(command) : text;
  const script = file === undefined ? given : await readTextFile(file, '--onstart', context);
  if (script === undefined) return undefined;
  const { packOnStart } = await import('../../markets/vast/instances/rent.ts');
  const packed = packOnStart(script);
  const name = command.length > 0 ? 'The command' : '--onstart';
  if (packed.type === 'tooLong') throw usageError(`${name}: ${packed.message}.`);
  return packed.script;
}

async function environment(
  given: readonly string[],
  { options }: CommandInput,
  context: CommandContext,
): Promise<Record<string, string>> {
  const file = textOption(options, '--env-file');
  const lines = file === undefined ? [] : (await readTextFile(file, '--env-file', context)).split('\n');
  const kept = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  const entries = [...kept, ...given].map((entry) => variable(entry, context.env));
  return Object.fromEntries(entries);
}

function variable(entry: string, env: CommandContext['env']): readonly [string, string] {
  const at = entry.indexOf('=');
  const name = at < 0 ? entry : entry.slice(0, at);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw usageError(`--env: "${name}" is not a variable name.`);
  const value = at < 0 ? env[name] : entry.slice(at + 1);
  if (value === undefined) throw usageError(`--env: ${name} is not set here.`, `Write ${name}=value.`);
  return [name, value];
}

function volumeOf(text: string | undefined): VolumeRequest | undefined {
  if (text === undefined) return undefined;
  const [id = '', mountPath = ''] = text.split(':');
  if (!mountPath.startsWith('/')) throw usageError(`--volume: "${text}" is not id:/path.`);
  return { type: 'existing', volumeId: parseId(id, '--volume'), mountPath };
}
