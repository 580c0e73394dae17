import { omitUndefined } from '../../lib/json.ts';
import type { ContainerPort, RentRequest, VolumeRequest } from '../../marketplace/instances/rent.ts';
import type { CommandContext, CommandInput, CommandOption, OptionValues } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { dollarsOption } from '../output/amounts.ts';
import { readSecretFile, readTextFile } from '../secrets/secret-input.ts';
import { listOption, numberOption, parseId, parseNumber, switchOption, textOption } from './option-values.ts';

/** The options of a rental. */
export const RENT_OPTIONS: readonly CommandOption[] = [
  { flags: '--image <reference>', description: 'The container image.' },
  { flags: '--disk <gb>', description: 'GB of disk. Default: 10.' },
  {
    flags: '--label <label>',
    description: 'Default: a label of its own, by which the machine can be found.',
  },
  {
    flags: '-e, --env <name=value>',
    description: 'A variable of the container; name alone takes it from here.',
    repeatable: true,
  },
  { flags: '--env-file <file>', description: 'Variables, one name=value per line.' },
  { flags: '-p, --port <port>', description: 'A port to open, 8080 or 53/udp.', repeatable: true },
  {
    flags: '--onstart <file>',
    description: 'A script that runs at the start; - is stdin. A long one is packed.',
  },
  { flags: '--onstart-cmd <text>', description: 'The same as text.' },
  { flags: '--bid <dollars>', description: 'Rent interruptibly at this bid per hour.' },
  { flags: '--ssh', description: 'Reach it by SSH through the proxy (the default way).' },
  { flags: '--direct', description: 'Reach it by SSH directly.' },
  { flags: '--jupyter', description: 'Run Jupyter beside SSH.' },
  { flags: '--args <argument...>', description: "Run the image's own entry point with these; no SSH." },
  { flags: '--login-file <file>', description: 'Registry login flags: -u user -p password registry.' },
  { flags: '--template-hash <hash>', description: 'Start from a template.' },
  { flags: '--volume <id:path>', description: 'Attach a volume of your own.' },
  { flags: '--cancel-unavail', description: 'Fail when it cannot start, instead of making it stopped.' },
  { flags: '--force', description: "Skip the service's checks." },
];

/** The rent request of the options. Rejects with a usage error if they contradict each other or name no image. */
export async function rentRequest(input: CommandInput, context: CommandContext): Promise<RentRequest> {
  const { options } = input;
  const image = textOption(options, '--image');
  const templateHashId = textOption(options, '--template-hash');
  if (image === undefined && templateHashId === undefined) {
    throw usageError('--image: an image is required.', 'Give --image, or --template-hash.');
  }
  const onStart = await startScript(options, context);
  const bidPerHour = dollarsOption(options, '--bid');
  const login = textOption(options, '--login-file');
  const imageLogin = login === undefined ? undefined : await readSecretFile(login, '--login-file', context);
  const volume = volumeOf(textOption(options, '--volume'));
  const args = listOption(options, '--args');
  return {
    diskGB: numberOption(options, '--disk', { min: 1 }) ?? 10,
    env: await environment(options, context),
    ports: listOption(options, '--port').map(portOf),
    runType: runType(options),
    ...omitUndefined({ image, templateHashId, onStart, bidPerHour, imageLogin, volume }),
    ...(args.length === 0 ? {} : { args }),
    ...(switchOption(options, '--cancel-unavail') ? { cancelUnavailable: true } : {}),
    ...(switchOption(options, '--force') ? { force: true } : {}),
  };
}

/** The words of the service, spelt as it spells them. */
function runType(options: OptionValues): string {
  if (listOption(options, '--args').length > 0) return 'args';
  const direct = switchOption(options, '--direct');
  if (switchOption(options, '--jupyter')) {
    return direct ? 'jupyter_direc ssh_direc ssh_proxy' : 'jupyter_proxy ssh_proxy';
  }
  return direct ? 'ssh_direc ssh_proxy' : 'ssh_proxy';
}

async function startScript(options: OptionValues, context: CommandContext): Promise<string | undefined> {
  const file = textOption(options, '--onstart');
  const text = textOption(options, '--onstart-cmd');
  if (file !== undefined && text !== undefined)
    throw usageError('--onstart and --onstart-cmd exclude each other.');
  const script = file === undefined ? text : await readTextFile(file, '--onstart', context);
  if (script === undefined) return undefined;
  const { packOnStart } = await import('../../marketplace/instances/rent.ts');
  const packed = packOnStart(script);
  if (packed.type === 'tooLong') throw usageError(`--onstart: ${packed.message}.`);
  return packed.script;
}

async function environment(options: OptionValues, context: CommandContext): Promise<Record<string, string>> {
  const file = textOption(options, '--env-file');
  const lines = file === undefined ? [] : (await readTextFile(file, '--env-file', context)).split('\n');
  const kept = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  const entries = [...kept, ...listOption(options, '--env')].map((entry) => variable(entry, context.env));
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

function portOf(text: string): ContainerPort {
  const [port = '', protocol = 'tcp'] = text.split('/');
  if (protocol !== 'tcp' && protocol !== 'udp')
    throw usageError(`--port: "${text}" is neither /tcp nor /udp.`);
  return { port: parseNumber(port, '--port', { min: 1, max: 65_535, whole: true }), protocol };
}

function volumeOf(text: string | undefined): VolumeRequest | undefined {
  if (text === undefined) return undefined;
  const [id = '', mountPath = ''] = text.split(':');
  if (!mountPath.startsWith('/')) throw usageError(`--volume: "${text}" is not id:/path.`);
  return { type: 'existing', volumeId: parseId(id, '--volume'), mountPath };
}
