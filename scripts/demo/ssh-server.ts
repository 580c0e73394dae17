import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';

/** The SSH server of this machine, which `apt-get install openssh-server` brings; undefined if there is none. */
export const SSHD = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd'].find((path) =>
  existsSync(path),
);

/** Variable of a machine with the port of its own SSH server on this computer. */
export const SSHD_PORT = 'SSHD_PORT';

/** The PATH of a session on an image with the usual programs. */
export const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin';

interface ServerPaths {
  /** File with the public keys that may log in. */
  readonly keys: string;
  readonly hostKey: string;
  readonly home: string;
  /** The PATH of a session. */
  readonly path: string;
}

/**
 * Returns the configuration of a server that is reached like a rented machine: by key only, as this user, with a home
 * of its own.
 */
export function serverConfig({ keys, hostKey, home, path }: ServerPaths, more: readonly string[]): string {
  return [
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${keys}`,
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
    'PermitUserEnvironment no',
    'PrintMotd no',
    'PrintLastLog no',
    'Subsystem sftp internal-sftp',
    ...more,
    `SetEnv HOME=${home} PATH=${path}`,
    '',
  ].join('\n');
}

/** Creates the folder into which a server of root drops its privileges. */
export function prepareServer(): void {
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
}

/** Creates a key pair without a password: the private key at that path, the public one beside it. */
export function makeKey(path: string): void {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'gpu-rent-playground', '-f', path]);
}
