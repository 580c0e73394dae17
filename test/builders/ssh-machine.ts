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
import { makeKey, prepareServer, SSHD, SYSTEM_PATH, serverConfig } from '../../scripts/demo/ssh-server.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';

export { SSHD };

/** True if rsync is installed, which resuming a copy after a cut needs. */
export const HAS_RSYNC = hasProgram('rsync');

/** A machine on loopback that answers SSH as rented ones do: a real server, with a host key and a login key of its own. */
export interface SshMachine {
  readonly host: string;
  /** Port of the relay in front of it, which can cut connections. */
  readonly port: number;
  readonly user: string;
  /** The private key that may log in. */
  readonly identity: string;
  /** Home folder, with files of the test. */
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
  const hostKey = join(folder, 'host');
  makeKey(hostKey);
  const port = await findFreePort();
  const config = join(folder, 'sshd_config');
  const path = options.withoutRsync ? pathWithoutRsync(folder) : SYSTEM_PATH;
  const keys = join(folder, 'authorized_keys');
  writeFileSync(keys, readFileSync(`${identity}.pub`));
  const listening = [
    `ListenAddress 127.0.0.1:${port}`,
    `PidFile ${join(folder, 'pid')}`,
    'MaxStartups 100:30:200',
  ];
  writeFileSync(config, serverConfig({ keys, hostKey, home, path }, listening));
  prepareServer();
  const server = spawn(SSHD, ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  await listens(server);
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

function hasProgram(name: string): boolean {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Returns a folder with the programs that copies need, except rsync. */
function pathWithoutRsync(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of ['sh', 'dirname', 'cat', 'test', 'printf']) {
    const found = ['/usr/bin', '/bin'].map((path) => join(path, name)).find((path) => existsSync(path));
    if (found !== undefined) symlinkSync(found, join(bin, name));
  }
  return bin;
}

async function listens(server: ChildProcess): Promise<void> {
  let output = '';
  await new Promise<void>((resolve, reject) => {
    server.stderr?.on('data', (chunk) => {
      output += String(chunk);
      if (output.includes('Server listening on')) resolve();
    });
    server.once('exit', (code) => reject(new Error(`sshd ended with ${code}: ${output}`)));
  });
}
