import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { isAtRest } from '../../instance/status-class.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { failed, notFound, usageError } from '../failures/command-error.ts';
import { makeFolder } from '../make-folder.ts';
import { getObject } from '../objects/cluster-objects.ts';
import { parseTarget } from '../objects/object-name.ts';
import { switchOption, textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

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
  options: [
    { flags: '-i, --identity <file>', description: 'The private key.' },
    { flags: '--user <name>', description: 'Default: root.' },
    { flags: '--print', description: 'Show the command instead of running it.' },
  ],
  optionSets: ['output', 'cluster', 'marketplace'],
  async run(input, context) {
    const [target = '', ...remote] = input.args;
    const { host, port, name } = await addressOf(target, input, context);
    if (!/^[A-Za-z0-9][A-Za-z0-9.:-]*$/.test(host))
      throw failed(`"${host}" is not a host that ssh may be given.`);
    const knownHosts = await knownHostsFile(name, context);
    const { options } = input;
    const identity = textOption(options, '--identity');
    const args = [
      ...['-p', String(port)],
      ...(identity === undefined ? [] : ['-i', identity]),
      ...['-o', 'StrictHostKeyChecking=accept-new'],
      ...['-o', `UserKnownHostsFile=${knownHosts}`],
      `${textOption(options, '--user') ?? 'root'}@${host}`,
    ];
    if (switchOption(input.options, '--print')) {
      const line = ['ssh', ...args, ...remote].map(quoted).join(' ');
      await createOutput(input, context).value({ host, port, command: line }, line);
      return 0;
    }
    return runSsh([...args, ...remote]);
  },
};

interface Address {
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

async function addressOf(text: string, input: CommandInput, context: CommandContext): Promise<Address> {
  const target = parseTarget(text);
  if (target.type === 'id') return addressOfInstance(target.id, input, context);
  if (target.resource !== gpuInstanceResource) throw usageError(`${text}: only a GpuInstance has a shell.`);
  const object = await withCluster(input, context, (cluster) =>
    getObject<GpuInstance>(cluster, gpuInstanceResource, target.name),
  );
  const { status, metadata } = object;
  const { instanceId, ssh } = status ?? {};
  if (status?.phase === 'Stopped' || ssh === undefined) throw unreachable(object);
  return { ...ssh, name: `${metadata.namespace}-${metadata.name}-${instanceId}` };
}

/** Why no shell can be had on the object's machine, and what to do. */
function unreachable(object: GpuInstance): Error {
  const { instanceId, phase = 'not yet seen' } = object.status ?? {};
  const machine = phase === 'Stopped' ? 'is stopped, and nothing answers there' : 'has no SSH address yet';
  const what = instanceId === undefined ? 'has no machine' : machine;
  return failed(`gpui/${object.metadata.name} ${what} (${phase}).`, wayToRun(object));
}

/** What has the object run a machine. */
function wayToRun({ metadata: { name, namespace }, spec: { powerState, paused } }: GpuInstance): string {
  const wait = `gpu-rent wait gpui/${name} -n ${namespace}`;
  if (powerState === 'Stopped') {
    const patch = `kubectl patch gpui ${name} -n ${namespace} --type=merge -p '{"spec":{"powerState":"Running"}}'`;
    return `Have it run: ${patch}; then ${wait}`;
  }
  return paused
    ? `Paused: gpu-rent resume gpui/${name} -n ${namespace}; then ${wait}`
    : `Wait for it: ${wait}`;
}

async function addressOfInstance(id: string, input: CommandInput, context: CommandContext): Promise<Address> {
  const row = await withMarketplace(input, context, ({ client }) => client.instances.get(id));
  if (!row) throw notFound(`There is no instance ${id}.`, 'gpu-rent list instances shows those there are.');
  const { sshHost: host, sshPort: port, actualStatusText: state } = row;
  // The marketplace still names the address of before.
  if (isAtRest(state))
    throw failed(
      `Instance ${id} is ${state}, and nothing answers there.`,
      `Start it: gpu-rent start instance ${id}`,
    );
  if (host !== undefined && port !== undefined) return { host, port, name: `instance-${id}` };
  throw failed(
    `Instance ${id} has no SSH address yet (${state ?? 'provisioning'}).`,
    `Look again in a while: gpu-rent show instance ${id}`,
  );
}

/** The file of one machine's host key. Its folder is made here: ssh makes none, and would store no key. */
async function knownHostsFile(name: string, { env }: CommandContext): Promise<string> {
  const folder = `${env.XDG_CACHE_HOME || `${env.HOME ?? '/tmp'}/.cache`}/gpu-rent`;
  try {
    await makeFolder(folder, 0o700);
  } catch (error) {
    throw failed(
      `The folder ${folder} for host keys cannot be made (${(error as NodeJS.ErrnoException).code}).`,
      'Make it writable, or name another place: XDG_CACHE_HOME.',
      error,
    );
  }
  return `${folder}/known_hosts-${name}`;
}

async function runSsh(args: readonly string[]): Promise<number> {
  const { spawn } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', [...args], { stdio: 'inherit' });
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(failed(`ssh cannot be run (${error.code}).`, 'Install OpenSSH, or use --print.', error)),
    );
    child.once('close', (code, signal) => resolve(code ?? (signal ? 1 : 0)));
  });
}

function quoted(argument: string): string {
  return /^[A-Za-z0-9@%+=:,./_-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
