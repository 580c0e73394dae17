import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../cluster/free-port.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';

/** The SSH server of this machine, which `apt-get install openssh-server` brings; undefined if there is none. */
export const SSHD = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd'].find((path) =>
  existsSync(path),
);

/** Whether rsync is there, which copies that go on after a cut need. */
export const HAS_RSYNC = hasProgram('rsync');

/** A machine on loopback that answers SSH as rented ones do: a real server, with a host key and a login key of its own. */
export interface SshMachine {
  readonly host: string;
  /** Of a relay in front of it, which can cut. */
  readonly port: number;
  readonly user: string;
  /** The private key that may log in. */
  readonly identity: string;
  /** Its home folder, and what a test keeps on it. */
  readonly home: string;
  readonly relay: CuttingProxy;
  close(): Promise<void>;
}

interface MachineOptions {
  /** The private key that may log in; another one is made if left out. */
  readonly identity?: string;
  /** Without rsync, as small images are. */
  readonly withoutRsync?: boolean;
}

/** Starts one. Rejects if there is no SSH server here: see {@link SSHD}. */
export async function sshMachine(options: MachineOptions = {}): Promise<SshMachine> {
  if (SSHD === undefined) throw new Error('There is no sshd on this machine.');
  const folder = mkdtempSync(join(tmpdir(), 'ssh-machine-'));
  const home = join(folder, 'home');
  mkdirSync(home);
  const identity = options.identity ?? join(folder, 'login');
  if (options.identity === undefined) makeKey(identity);
  makeKey(join(folder, 'host'));
  const port = await findFreePort();
  const config = join(folder, 'sshd_config');
  const path = options.withoutRsync ? pathWithoutRsync(folder) : '/usr/local/bin:/usr/bin:/bin';
  writeFileSync(config, configOf({ folder, port, identity, home, path }));
  // The server of root drops its rights into this folder.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true });
  const server = spawn(SSHD, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  await listening(server);
  const relay = await startCuttingProxy(`tcp://127.0.0.1:${port}`);
  return {
    ...{ host: '127.0.0.1', port: Number(new URL(relay.url).port), user: userInfo().username },
    ...{ identity, home, relay },
    async close() {
      await relay.close();
      server.kill('SIGTERM');
      await once(server, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface ServerConfig {
  readonly folder: string;
  readonly port: number;
  readonly identity: string;
  readonly home: string;
  readonly path: string;
}

function configOf({ folder, port, identity, home, path }: ServerConfig): string {
  const keys = join(folder, 'authorized_keys');
  writeFileSync(keys, readFileSync(`${identity}.pub`));
  return [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${join(folder, 'host')}`,
    `AuthorizedKeysFile ${keys}`,
    `PidFile ${join(folder, 'pid')}`,
    'StrictModes no',
    'UsePAM no',
    'PasswordAuthentication no',
    'PermitRootLogin prohibit-password',
    'PermitUserEnvironment no',
    'PrintMotd no',
    'MaxStartups 100:30:200',
    'Subsystem sftp internal-sftp',
    `SetEnv HOME=${home} PATH=${path}`,
    '',
  ].join('\n');
}

function makeKey(path: string): void {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', path]);
}

function hasProgram(name: string): boolean {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A folder with what copies need, and without rsync. */
function pathWithoutRsync(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of ['sh', 'dirname', 'cat', 'test', 'printf']) {
    const found = ['/usr/bin', '/bin'].map((path) => join(path, name)).find((path) => existsSync(path));
    if (found !== undefined) symlinkSync(found, join(bin, name));
  }
  return bin;
}

async function listening(server: ChildProcess): Promise<void> {
  let output = '';
  await new Promise<void>((resolve, reject) => {
    server.stderr?.on('data', (chunk) => {
      output += String(chunk);
      if (output.includes('Server listening on')) resolve();
    });
    server.once('exit', (code) => reject(new Error(`sshd ended with ${code}: ${output}`)));
  });
}
