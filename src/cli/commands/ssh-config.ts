import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { hostEntry } from '../../reach/ssh-arguments.ts';
import { type SshTarget, safeTarget, targetOfObject } from '../../reach/ssh-target.ts';
import type { Command } from '../command.ts';
import { EXIT, failed } from '../command-error.ts';
import { type Asked, dialed, loginTo, SSH_OPTIONS } from '../machine/reach.ts';
import { makeFolder } from '../make-folder.ts';
import { getObject } from '../objects/cluster-objects.ts';
import { parseObject } from '../objects/object-name.ts';
import { textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { replaceFile } from '../replace-file.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Writes the SSH configuration with which ssh, scp, rsync, VS Code and JetBrains reach machines by name. */
export const sshConfigCommand: Command = {
  description:
    'Prints a Host entry for each machine that answers SSH: NAME.NAMESPACE, and NAME too for those of the namespace. --write puts them into a file of their own, ~/.ssh/gpu-rent.config unless named, and replaces its content; your ~/.ssh/config stays as it is and needs one line at its top: Include gpu-rent.config. A machine that was replaced has another address: run the command again.',
  examples: [
    'gpu-rent ssh-config --write',
    'gpu-rent ssh-config gpui/trainer --identity ~/.ssh/gpu',
    'gpu-rent ssh-config -A -l job=sweep --write ./machines.config',
  ],
  args: [{ name: '[object...]', description: 'gpui/name; all of the namespace if left out.' }],
  options: [
    ...SSH_OPTIONS,
    { flags: '-l, --selector <labels>', description: 'Objects with these labels, e.g. job=sweep.' },
    { flags: '--write [file]', description: 'Write the file. Default: ~/.ssh/gpu-rent.config.' },
  ],
  optionSets: ['report', 'cluster'],
  async run(input, context) {
    const asked = { input, context };
    const names = input.args.map((text) => parseObject(text, gpuInstanceResource).name);
    const { objects, namespace } = await withCluster(input, context, async (cluster) => ({
      objects: await chosen(cluster, names, textOption(input.options, '--selector')),
      namespace: cluster.namespace,
    }));
    const hosts = await hostsOf(objects, { asked, isNamed: names.length > 0, namespace });
    const text = configText(hosts);
    const target = input.options.write;
    const output = createOutput(input, context);
    if (target === undefined || target === false) {
      await output.value(hosts, text);
      return EXIT.ok;
    }
    const file = typeof target === 'string' ? target : `${await sshFolder(asked)}/${FILE}`;
    await write(file, text);
    const reached = hosts.filter(({ problem }) => problem === undefined).length;
    const include = typeof target === 'string' ? file : FILE;
    const hint = `ssh, scp, rsync and editors find them with this line at the top of ~/.ssh/config: Include ${include}`;
    await output.value(
      { file, hosts },
      `${reached} of ${counted(hosts.length, 'machine')} ${agreeing(hosts.length, 'is', 'are')} in ${file}.\n${hint}`,
    );
    return EXIT.ok;
  },
};

const FILE = 'gpu-rent.config';

/** An object in the file. */
interface SshHost {
  readonly names: readonly string[];
  readonly machine: SshTarget | undefined;
  readonly user: string;
  readonly identity: string | undefined;
  readonly knownHosts: string | undefined;
  /** Reason why it cannot be reached. */
  readonly problem: string | undefined;
}

/**
 * Returns the named objects, or all of the namespace or cluster if none is named. Rejects if a named one does not
 * exist.
 */
async function chosen(
  cluster: ClusterSession,
  names: readonly string[],
  labelSelector: string | undefined,
): Promise<readonly GpuInstance[]> {
  if (names.length > 0)
    return Promise.all(names.map((name) => getObject<GpuInstance>(cluster, gpuInstanceResource, name)));
  const { kube, scope } = cluster;
  const { items } = await kube.list<GpuInstance>(gpuInstanceResource, {
    namespace: scope,
    ...(labelSelector !== undefined && { labelSelector }),
  });
  return items;
}

interface Hosts {
  readonly asked: Asked;
  /** True if the object was named: without a machine it is then a failure. */
  readonly isNamed: boolean;
  readonly namespace: string;
}

function hostsOf(
  objects: readonly GpuInstance[],
  { asked, isNamed, namespace: own }: Hosts,
): Promise<readonly SshHost[]> {
  return Promise.all(
    objects.map(async (object) => {
      const { name, namespace = own } = object.metadata;
      const names = [`${name}.${namespace}`, ...(namespace === own ? [name] : [])];
      const found = addressOf(object);
      if (found instanceof Error && isNamed) throw found;
      const machine = found instanceof Error ? undefined : await dialed(found, asked.context);
      const login = await loginTo(machine ?? { keyName: name }, asked);
      return {
        ...{ names, machine, user: login.user, identity: login.identity },
        knownHosts: machine && login.knownHosts,
        problem: found instanceof Error ? found.message : undefined,
      };
    }),
  );
}

/** Returns the address of the object's machine, or the error that explains why there is none. */
function addressOf(object: GpuInstance): SshTarget | Error {
  try {
    return safeTarget(targetOfObject(object));
  } catch (error) {
    return error as Error;
  }
}

/** Returns the file: an entry for each machine, a comment for each object without one. */
export function configText(hosts: readonly SshHost[]): string {
  const entries = hosts.map(({ names, machine, user, identity, knownHosts, problem }) => {
    if (!machine || knownHosts === undefined)
      return `# ${names[0]}: ${(problem ?? '').replaceAll(/\s+/g, ' ')}`;
    return hostEntry({ names, target: machine, login: { user, identity, knownHosts } });
  });
  return ['# Written by gpu-rent ssh-config, which replaces all of it.', ...entries, ''].join('\n\n');
}

async function sshFolder({ context: { env } }: Asked): Promise<string> {
  if (!env.HOME) throw failed('HOME is not set, so there is no ~/.ssh.', 'Name the file: --write FILE.');
  const folder = `${env.HOME}/.ssh`;
  await makeFolder(folder, 0o700);
  return folder;
}

async function write(file: string, text: string): Promise<void> {
  try {
    await replaceFile(file, text, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw failed(`${file} cannot be written (${code}).`, 'Name another file: --write FILE.', error);
  }
}
