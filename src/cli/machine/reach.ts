import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { isAtRest } from '../../instance/machine-state.ts';
import { machineState } from '../../markets/vast/machine-row.ts';
import { type Login, userName } from '../../reach/ssh-arguments.ts';
import {
  changeOfTarget,
  type SshTarget,
  safeTarget,
  targetOfMachine,
  targetOfObject,
} from '../../reach/ssh-target.ts';
import type { CommandContext, CommandInput, CommandOption } from '../command.ts';
import { failed, notFound, usageError } from '../command-error.ts';
import { makeFolder } from '../make-folder.ts';
import { getObject } from '../objects/cluster-objects.ts';
import { parseTarget } from '../objects/object-name.ts';
import { textOption } from '../option-values.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Options for the login, of every command with SSH. */
export const SSH_OPTIONS: readonly CommandOption[] = [
  { flags: '-i, --identity <file>', description: 'The private key. Default: GPU_RENT_SSH_IDENTITY.' },
  { flags: '--user <name>', description: 'Default: GPU_RENT_SSH_USER, root.' },
];

/** Input of a command with SSH. */
export interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/**
 * Returns the present SSH address of an object's machine, or of the machine with an id. Rejects with a failure and a
 * remedy if it does not answer.
 */
export async function reachMachine(text: string, { input, context }: Asked): Promise<SshTarget> {
  const target = parseTarget(text);
  const address =
    target.type === 'id'
      ? await addressOfInstance(target.id, { input, context })
      : await withCluster(input, context, async (cluster) => {
          if (target.resource !== gpuInstanceResource)
            throw usageError(`${text}: only a GpuInstance has a shell.`, 'Write gpui/name.');
          return targetOfObject(await getObject<GpuInstance>(cluster, gpuInstanceResource, target.name));
        });
  return dialed(safeTarget(address), context);
}

/**
 * Returns the address to connect to: GPU_RENT_ADDRESS_MAP (`203.0.113.0/24=127.0.0.1`) maps the addresses of a
 * simulated marketplace to this machine. Rejects with a usage error if the variable is invalid.
 */
export async function dialed(machine: SshTarget, { env }: Pick<CommandContext, 'env'>): Promise<SshTarget> {
  const text = env.GPU_RENT_ADDRESS_MAP;
  if (text === undefined || text === '') return machine;
  const { addressMapping, mapAddress } = await import('../../config/values.ts');
  const { data: mapping, error } = addressMapping.safeParse(text);
  if (mapping === undefined)
    throw usageError(`GPU_RENT_ADDRESS_MAP=${text}: ${error.issues[0]?.message ?? 'it cannot be read'}.`);
  return { ...machine, host: mapAddress([mapping], machine.host) };
}

async function addressOfInstance(id: string, { input, context }: Asked): Promise<SshTarget> {
  const row = await withMarketplace(input, context, ({ client }) => client.instances.get(id));
  if (!row) throw notFound(`There is no instance ${id}.`, 'gpu-rent list instances shows all.');
  const isResting = isAtRest({ state: machineState(row.actualStatus) });
  return targetOfMachine({ ...row, id, stateText: row.actualStatusText ?? undefined, isAtRest: isResting });
}

/** Returns the login and the file of the machine's host key. Rejects if its folder cannot be created. */
export async function loginTo(
  { keyName }: Pick<SshTarget, 'keyName'>,
  { input: { options }, context }: Asked,
): Promise<Login> {
  const { env } = context;
  const user = userName(textOption(options, '--user') ?? (env.GPU_RENT_SSH_USER || 'root'));
  return {
    user,
    identity: textOption(options, '--identity') ?? (env.GPU_RENT_SSH_IDENTITY || undefined),
    knownHosts: `${await keyFolder(context)}/known_hosts-${keyName}`,
  };
}

/** Returns the folder of host keys. ssh does not create it, and would store no key. */
export async function keyFolder({ env }: CommandContext): Promise<string> {
  const folder = `${env.XDG_CACHE_HOME || `${env.HOME ?? '/tmp'}/.cache`}/gpu-rent`;
  try {
    await makeFolder(folder, 0o700);
    return folder;
  } catch (error) {
    throw failed(
      `The folder ${folder} for host keys cannot be created (${(error as NodeJS.ErrnoException).code}).`,
      'Make it writable, or name another place: XDG_CACHE_HOME.',
      error,
    );
  }
}

/**
 * Returns the reason why the connection to an object's machine ended, if the cluster shows it: the object has another
 * machine, or none. Undefined if nothing has changed, or the cluster is unreachable.
 */
export async function changeSince(machine: SshTarget, { input, context }: Asked): Promise<Error | undefined> {
  const { shown } = machine;
  const target = parseTarget(shown);
  if (target.type === 'id' || context.signal.aborted) return undefined;
  const read = (cluster: ClusterSession) => getObject<GpuInstance>(cluster, gpuInstanceResource, target.name);
  const object = await withCluster(input, context, read).catch((error: unknown) =>
    error instanceof Error ? error : undefined,
  );
  if (object === undefined || object instanceof Error) return object;
  return changeOfTarget(machine, object);
}
