import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { HOME, MOUNTED_FOLDERS } from './machine-folder.ts';

/** A command line with its program. */
export type CommandLine = readonly [program: string, ...args: string[]];

/**
 * View that the programs of a machine have of its folders. With namespaces `/root`, `/tmp`, `/var/tmp` and `/proc` are
 * the machine's own, and no process outlives its first one. Without them only HOME and TMPDIR are.
 */
export interface Isolation {
  readonly hasNamespaces: boolean;
  /** Reason why there are no namespaces; undefined if there are. */
  readonly problem: string | undefined;
  /** Returns the command that runs `command` in the machine whose folders are below `root`. */
  wrap(root: string, command: CommandLine): CommandLine;
  /** Returns HOME and TMPDIR of the programs in that machine. */
  folders(root: string): { readonly HOME: string; readonly TMPDIR: string };
}

const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child=KILL', '--mount-proc'] as const;
/** A user that is not root can be root of a namespace of its own, if the system permits it. */
const OWN_USER = ['--user', '--map-root-user'] as const;

/** Relative paths: the folders may be below a path that a mount hides. */
const MOUNT = [
  'cd "$0"',
  ...MOUNTED_FOLDERS.map((folder) => `mount --bind ${folder} /${folder}`),
  `cd /${HOME}`,
  'exec "$@"',
].join(' && ');

const PROBE_TIMEOUT_MS = 5000;

/** Returns the strongest isolation that is permitted here. `probeRoot` contains the folders of a machine. */
export function findIsolation(probeRoot: string): Isolation {
  let problem = '';
  for (const user of [[], OWN_USER]) {
    const wrap: Isolation['wrap'] = (root, command) => [
      'unshare',
      ...user,
      ...NAMESPACES,
      ...['sh', '-c', MOUNT, root, ...command],
    ];
    const [program, ...args] = wrap(probeRoot, ['true']);
    const tried = spawnSync(program, args, { encoding: 'utf8', timeout: PROBE_TIMEOUT_MS });
    if (tried.status === 0) {
      const folders = { HOME: `/${HOME}`, TMPDIR: '/tmp' };
      return { hasNamespaces: true, problem: undefined, wrap, folders: () => folders };
    }
    problem ||= tried.error?.message ?? tried.stderr.trim().split('\n')[0] ?? '';
  }
  return withoutNamespaces(problem);
}

/** Returns the isolation by environment variables alone. */
export function withoutNamespaces(problem: string): Isolation {
  return {
    hasNamespaces: false,
    problem,
    wrap: (root, command) => ['sh', '-c', 'cd "$0" && exec "$@"', join(root, HOME), ...command],
    folders: (root) => ({ HOME: join(root, HOME), TMPDIR: join(root, 'tmp') }),
  };
}
