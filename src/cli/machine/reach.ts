import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { isAtRest } from '../../instance/machine-state.ts';
import { machineState } from '../../markets/vast/machine-row.ts';
import type { CommandContext, CommandInput, CommandOption } from '../command.ts';
import { failed, notFound, usageError } from '../command-error.ts';
import { makeFolder } from '../make-folder.ts';
import { getObject } from '../objects/cluster-objects.ts';
import { parseTarget } from '../objects/object-name.ts';
import { textOption } from '../option-values.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Where a machine answers SSH. */
export interface MachineAddress {
  /** As people name it: `gpui/trainer`, or the id of the machine. */
  readonly shown: string;
  readonly host: string;
  readonly port: number;
  /** What its host key is kept under: another for each machine, so that a replacement meets no old key. */
  readonly keyName: string;
  /** The id of the machine at the marketplace. */
  readonly instanceId: string | undefined;
}

/** Who logs in, for every command that uses SSH. */
export const SSH_OPTIONS: readonly CommandOption[] = [
  { flags: '-i, --identity <file>', description: 'The private key. Default: GPU_RENT_SSH_IDENTITY.' },
  { flags: '--user <name>', description: 'Default: GPU_RENT_SSH_USER, root.' },
];

/** What a command that uses SSH is asked with. */
export interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/**
 * Where the machine of an object, or the machine with an id, answers SSH now. Rejects with a failure that says what to
 * do if it does not.
 */
export async function reachMachine(text: string, { input, context }: Asked): Promise<MachineAddress> {
  const target = parseTarget(text);
  const address =
    target.type === 'id'
      ? await addressOfInstance(target.id, { input, context })
      : await withCluster(input, context, async (cluster) => {
          if (target.resource !== gpuInstanceResource)
            throw usageError(`${text}: only a GpuInstance has a shell.`, 'Write gpui/name.');
          return addressOfObject(await getObject<GpuInstance>(cluster, gpuInstanceResource, target.name));
        });
  if (isSafeHost(address.host)) return dialed(address, context);
  throw failed(`"${address.host}" is not a host that ssh may be given.`);
}

/**
 * The address to connect to: GPU_RENT_ADDRESS_MAP (`203.0.113.0/24=127.0.0.1`) leads the addresses of a simulated
 * marketplace to this machine. Rejects with a usage error if the variable cannot be read.
 */
export async function dialed(
  machine: MachineAddress,
  { env }: Pick<CommandContext, 'env'>,
): Promise<MachineAddress> {
  const text = env.GPU_RENT_ADDRESS_MAP;
  if (text === undefined || text === '') return machine;
  const { addressMapping, mapAddress } = await import('../../config/values.ts');
  const { data: mapping, error } = addressMapping.safeParse(text);
  if (mapping === undefined)
    throw usageError(`GPU_RENT_ADDRESS_MAP=${text}: ${error.issues[0]?.message ?? 'it cannot be read'}.`);
  return { ...machine, host: mapAddress([mapping], machine.host) };
}

/** Whether ssh takes it for a host, and for nothing else: the marketplace says it. */
export function isSafeHost(host: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9.:-]*$/.test(host);
}

/** Where an object's machine answers SSH. Throws if it does not answer now. */
export function addressOfObject(object: GpuInstance): MachineAddress {
  const { status, metadata } = object;
  const { instanceId, ssh } = status ?? {};
  if (status?.phase === 'Stopped' || ssh === undefined) throw unreachable(object);
  return {
    ...ssh,
    shown: `gpui/${metadata.name}`,
    keyName: `${metadata.namespace}-${metadata.name}-${instanceId}`,
    instanceId,
  };
}

/** Why no shell can be had on the object's machine, and what to do. */
function unreachable(object: GpuInstance): Error {
  const { instanceId, phase = 'not yet seen' } = object.status ?? {};
  const machine = phase === 'Stopped' ? 'is stopped, and nothing answers there' : 'has no SSH address yet';
  const what = instanceId === undefined ? 'has no machine' : machine;
  return failed(`gpui/${object.metadata.name} ${what} (${phase}).`, wayToRun(object));
}

/** What has the object run a machine. */
function wayToRun({ metadata: { name, namespace }, spec, status }: GpuInstance): string {
  const wait = `gpu-rent wait gpui/${name} -n ${namespace}`;
  if (spec.powerState === 'Stopped')
    return `Start it: gpu-rent start gpui/${name} -n ${namespace}; then ${wait}`;
  if (spec.paused) return `Paused: gpu-rent resume gpui/${name} -n ${namespace}; then ${wait}`;
  const isWithoutSsh = spec.ssh === false && status?.ssh === undefined;
  return isWithoutSsh ? `Set spec.ssh: true; then wait for it: ${wait}` : `Wait for it: ${wait}`;
}

async function addressOfInstance(id: string, { input, context }: Asked): Promise<MachineAddress> {
  const row = await withMarketplace(input, context, ({ client }) => client.instances.get(id));
  if (!row) throw notFound(`There is no instance ${id}.`, 'gpu-rent list instances shows those there are.');
  const { sshHost: host, sshPort: port, actualStatusText: state } = row;
  // The marketplace still names the address of before.
  if (isAtRest({ state: machineState(row.actualStatus) }))
    throw failed(
      `Instance ${id} is ${state}, and nothing answers there.`,
      `Start it: gpu-rent start instance ${id}`,
    );
  if (host !== undefined && port !== undefined)
    return { host, port, shown: id, keyName: `instance-${id}`, instanceId: id };
  throw failed(
    `Instance ${id} has no SSH address yet (${state ?? 'provisioning'}).`,
    `Look again in a while: gpu-rent show instance ${id}`,
  );
}

/** How a machine is logged in to. */
export interface Login {
  readonly user: string;
  readonly identity: string | undefined;
  /** The file of its host key; its folder exists. */
  readonly knownHosts: string;
}

/** Who logs in, and where the machine's host key is kept. Rejects if there can be no folder for it. */
export async function loginTo(
  { keyName }: Pick<MachineAddress, 'keyName'>,
  { input: { options }, context }: Asked,
): Promise<Login> {
  const { env } = context;
  const user = textOption(options, '--user') ?? (env.GPU_RENT_SSH_USER || 'root');
  if (!/^[A-Za-z0-9_][-A-Za-z0-9_.]*$/.test(user))
    throw usageError(`--user: "${user}" is not a name of a user.`);
  return {
    user,
    identity: textOption(options, '--identity') ?? (env.GPU_RENT_SSH_IDENTITY || undefined),
    knownHosts: `${await keyFolder(context)}/known_hosts-${keyName}`,
  };
}

/** The folder of host keys. ssh makes none, and would store no key. */
export async function keyFolder({ env }: CommandContext): Promise<string> {
  const folder = `${env.XDG_CACHE_HOME || `${env.HOME ?? '/tmp'}/.cache`}/gpu-rent`;
  try {
    await makeFolder(folder, 0o700);
    return folder;
  } catch (error) {
    throw failed(
      `The folder ${folder} for host keys cannot be made (${(error as NodeJS.ErrnoException).code}).`,
      'Make it writable, or name another place: XDG_CACHE_HOME.',
      error,
    );
  }
}

/** Seconds for the connection and the SSH handshake together. */
export const CONNECT_TIMEOUT_SECONDS = 15;

/** Options of ssh, and of scp and rsync by it: everything but the destination. */
export function sshOptions(
  { port }: Pick<MachineAddress, 'port'>,
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

/** A path as the configuration of ssh reads it: a space would end it, and % begins a token. */
export function configValue(path: string): string {
  const escaped = path.replaceAll('%', '%%');
  return /[\s"#]/.test(path) ? `"${escaped.replaceAll('"', '\\"')}"` : escaped;
}

/** A connection that is cut without a word is noticed within a minute. */
export const NOTICE_CUTS: readonly string[] = [
  ...['-o', 'ServerAliveInterval=15'],
  ...['-o', 'ServerAliveCountMax=3'],
];

/**
 * Why the connection to an object's machine ended, if the cluster knows: it is another machine by now, or none.
 * Undefined if nothing has changed, or the cluster cannot be asked.
 */
export async function changeSince(
  { shown, instanceId }: MachineAddress,
  { input, context }: Asked,
): Promise<Error | undefined> {
  const target = parseTarget(shown);
  if (target.type === 'id' || context.signal.aborted) return undefined;
  const read = (cluster: ClusterSession) => getObject<GpuInstance>(cluster, gpuInstanceResource, target.name);
  const object = await withCluster(input, context, read).catch((error: unknown) =>
    error instanceof Error ? error : undefined,
  );
  if (object === undefined || object instanceof Error) return object;
  const now = object.status?.instanceId;
  if (now !== undefined && now !== instanceId)
    return failed(
      `${shown} runs on machine ${now} now; machine ${instanceId} was replaced.`,
      'Repeat the command: it reaches the present machine. What was on the old disk is lost.',
    );
  try {
    addressOfObject(object);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
