import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { MachineShell } from '../../src/simulator/instances/machine-servers.ts';
import { createFolders, HOME, writeMachineFile } from '../../src/simulator/machines/machine-folder.ts';
import { KEYS_PATH } from '../../src/simulator/machines/start-command.ts';
import { makeKey, prepareServer, SYSTEM_PATH, serverConfig } from './ssh-server.ts';

/** Answers SSH as a rented machine does. */
export interface MachineShells {
  readonly shell: MachineShell;
  /** Ends every session and every process that was started in one. */
  close(): Promise<void>;
}

export interface ShellOptions {
  /** Receives a folder for each machine, with the files of a machine of `--run-machines`, its host key and configuration. */
  readonly folder: string;
  readonly sshd: string;
  /** Public keys that may log in to that machine now, each a line of `authorized_keys`. */
  readonly keysOf: (machine: number) => readonly string[];
}

/**
 * Starts a real SSH server for each machine, with a host key and a home folder of its own. Logins are those of this
 * user.
 */
export function machineShells({ folder, sshd, keysOf }: ShellOptions): MachineShells {
  prepareServer();
  const sessions = new Set<number>();
  const shell: MachineShell = ({ contract }, socket) => {
    const place = machineFolder(folder, contract.id);
    const keys = keysOf(contract.id).map((key) => `${key}\n`);
    writeMachineFile(place, KEYS_PATH, keys.join(''));
    // -i: one connection, which the server reads and writes as its own stdin and stdout.
    const server = spawn(sshd, ['-i', '-f', join(place, 'sshd_config')], {
      stdio: [socket, socket, 'ignore'],
      detached: true,
    });
    const { pid } = server;
    if (pid !== undefined) sessions.add(pid);
    server.on('error', () => socket.destroy());
    server.on('exit', () => {
      socket.destroy();
      if (pid !== undefined) sessions.delete(pid);
    });
  };
  return {
    shell,
    async close() {
      const processes = await descendantsOf([...sessions]);
      for (const pid of [...processes, ...sessions]) endProcess(pid);
    },
  };
}

function machineFolder(parent: string, machine: number): string {
  const folder = join(parent, String(machine));
  if (existsSync(folder)) return folder;
  createFolders(folder);
  const home = join(folder, HOME);
  const programs = join(folder, 'bin');
  mkdirSync(programs);
  writeFileSync(join(programs, 'nvidia-smi'), NVIDIA_SMI, { mode: 0o755 });
  const hostKey = join(folder, 'host');
  makeKey(hostKey);
  const session = join(folder, 'session');
  writeFileSync(session, SESSION, { mode: 0o755 });
  const config = serverConfig(
    { keys: join(folder, KEYS_PATH), hostKey, home, path: `${programs}:${SYSTEM_PATH}` },
    [`ForceCommand ${session}`],
  );
  writeFileSync(join(folder, 'sshd_config'), config);
  return folder;
}

const SFTP_SERVERS = ['/usr/lib/openssh', '/usr/libexec/openssh', '/usr/lib/ssh', '/usr/libexec']
  .map((folder) => `${folder}/sftp-server`)
  .filter((path) => existsSync(path));

/** There is no GPU here. */
const NVIDIA_SMI = "#!/bin/sh\necho 'GPU 0: simulated'\n";

/** Start of a session: the server itself would begin in the real home of the login. */
const SESSION = `#!/bin/sh
cd "$HOME" || exit 1
case "$SSH_ORIGINAL_COMMAND" in
  '') exec "\${SHELL:-/bin/sh}" ;;
  internal-sftp) exec ${SFTP_SERVERS[0] ?? 'sftp-server'} ;;
  *) exec /bin/sh -c "$SSH_ORIGINAL_COMMAND" ;;
esac
`;

/**
 * Returns all descendants of processes: a program that a session left in the background is in no known process group.
 */
async function descendantsOf(roots: readonly number[]): Promise<readonly number[]> {
  if (roots.length === 0) return [];
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found: number[] = [];
  let parents = new Set(roots);
  while (parents.size > 0) {
    const children = rows.filter(([, parent = 0]) => parents.has(parent)).map(([pid = 0]) => pid);
    found.push(...children);
    parents = new Set(children);
  }
  return found;
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
