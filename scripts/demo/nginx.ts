import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findFreePort } from '../../test/cluster/free-port.ts';

const execute = promisify(execFile);

/** An nginx whose one upstream is not there. */
export interface EmptyNginx {
  readonly url: string;
  stop(): Promise<void>;
}

/** A path of the binary, or why there is none. */
export type NginxBinary = { readonly path: string } | { readonly missing: string };

/**
 * Returns the nginx of this machine, else Debian's package, unpacked into the user's cache: nothing is installed. Never
 * rejects.
 */
export async function nginxBinary(signal: AbortSignal): Promise<NginxBinary> {
  for (const path of ['nginx', '/usr/sbin/nginx']) if (await runs(path, signal)) return { path };
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'gpu-rental-operator', 'nginx');
  const path = join(folder, 'usr', 'sbin', 'nginx');
  try {
    if (!existsSync(path)) await unpack(folder, signal);
  } catch {
    return { missing: 'nginx is not installed, and apt-get has no package of it' };
  }
  return (await runs(path, signal)) ? { path } : { missing: 'the nginx of the package does not run here' };
}

async function runs(path: string, signal: AbortSignal): Promise<boolean> {
  return execute(path, ['-v'], { signal }).then(
    () => true,
    () => false,
  );
}

async function unpack(folder: string, signal: AbortSignal): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const options = { cwd: folder, signal };
  const download = () => execute('apt-get', ['download', '-qq', 'nginx'], options);
  try {
    await download();
  } catch {
    // As root on a fresh machine there is no list of packages yet.
    await execute('apt-get', ['update', '-qq'], options);
    await download();
  }
  const archive = readdirSync(folder).find((name) => name.endsWith('.deb'));
  if (archive === undefined) throw new Error('apt-get downloaded no package');
  await execute('dpkg-deb', ['-x', archive, '.'], options);
}

/** Longer than the comparison, so that it ends by itself in any case. */
const MOST_SECONDS = '60';

/** Starts it on a free port. Rejects if it ends before it listens. */
export async function startEmptyNginx(path: string, parent: string): Promise<EmptyNginx> {
  const folder = join(parent, 'nginx');
  mkdirSync(folder, { recursive: true });
  const port = await findFreePort();
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, configOf({ folder, port, upstream: await findFreePort() }));
  const nginx = spawn('timeout', [MOST_SECONDS, path, '-p', folder, '-c', config], {
    stdio: 'ignore',
    // Ctrl-C reaches the demo alone, which then ends it.
    detached: true,
  });
  const ended = once(nginx, 'close');
  const url = `http://127.0.0.1:${port}`;
  try {
    await Promise.race([answers(url), ended.then(() => Promise.reject(new Error('nginx ended at once')))]);
  } catch (error) {
    nginx.kill();
    throw error;
  }
  return {
    url,
    async stop() {
      nginx.kill();
      await ended;
    },
  };
}

function configOf({ folder, port, upstream }: { folder: string; port: number; upstream: number }): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${folder}/${name};`)
    .join('\n');
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 4096; }
http {
  access_log off;
${paths}
  upstream workers { server 127.0.0.1:${upstream}; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://workers; }
  }
}
`;
}

const ANSWERS_WITHIN_MS = 5_000;
const ASK_EVERY_MS = 50;

async function answers(url: string): Promise<void> {
  const deadline = performance.now() + ANSWERS_WITHIN_MS;
  for (;;) {
    const isUp = await fetch(url).then(
      (reply) => reply.arrayBuffer().then(() => true),
      () => false,
    );
    if (isUp) return;
    if (performance.now() > deadline) throw new Error('nginx does not answer');
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}
