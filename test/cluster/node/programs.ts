import { execFile } from 'node:child_process';
import { existsSync, statfsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { findOnPath } from '../kubectl.ts';

const run = promisify(execFile);

/** Programs of the system, by which a node runs containers. */
export interface NodePrograms {
  readonly containerd: string;
  /** The settings of version 2 have another form than those of version 1. */
  readonly containerdMajor: 1 | 2;
  readonly ctr: string;
  readonly runc: string;
  readonly ip: string;
  readonly unshare: string;
  /** The folder of the CNI plugins. */
  readonly cniFolder: string;
  readonly proxyMode: 'nftables' | 'iptables';
  /** With the folders of system programs, which the PATH of a user may lack. */
  readonly searchPath: string;
}

/** Command that installs what {@link findNodePrograms} needs; the CI script runs the same command. */
export const INSTALL_COMMAND = 'apt-get install containerd runc containernetworking-plugins nftables';

const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const CNI_FOLDERS = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];
const CNI_PLUGINS = ['bridge', 'host-local', 'loopback'];
const NEEDED = ['containerd', 'ctr', 'runc', 'unshare', 'ip', 'iptables', 'bash', 'mount'];

export function searchPathOf(env: NodeJS.ProcessEnv): string {
  return [...(env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS].filter(Boolean).join(delimiter);
}

/** Rejects with what is missing. */
export async function findNodePrograms(env: NodeJS.ProcessEnv): Promise<NodePrograms> {
  const searchPath = searchPathOf(env);
  const found = new Map(NEEDED.map((name) => [name, findOnPath(name, searchPath)]));
  const missing = NEEDED.filter((name) => found.get(name) === undefined);
  const cniFolder = CNI_FOLDERS.find((folder) => CNI_PLUGINS.every((name) => existsSync(join(folder, name))));
  if (cniFolder === undefined) missing.push('CNI plugins');
  if (missing.length > 0 || cniFolder === undefined)
    throw new Error(`${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`);
  const path = (name: string): string => found.get(name) ?? name;
  return {
    containerd: path('containerd'),
    containerdMajor: await majorOf(path('containerd')),
    ctr: path('ctr'),
    runc: path('runc'),
    ip: path('ip'),
    unshare: path('unshare'),
    cniFolder,
    proxyMode: findOnPath('nft', searchPath) === undefined ? 'iptables' : 'nftables',
    searchPath,
  };
}

async function majorOf(containerd: string): Promise<1 | 2> {
  const { stdout } = await run(containerd, ['--version']);
  // Such as: containerd github.com/containerd/containerd/v2 v2.3.7 0cb4a5c
  const major = / v?(\d+)\.\d+\.\d+/.exec(stdout)?.[1];
  if (major === '1') return 1;
  if (major === '2') return 2;
  throw new Error(`${containerd} has a version that these tests do not know: ${stdout.trim()}`);
}

/** Rejects if this process may not create namespaces, mounts and networks; even root may not in most containers. */
export async function probeNamespaces(env: NodeJS.ProcessEnv): Promise<void> {
  const flags = ['--mount', '--net', '--pid', '--uts', '--ipc', '--fork', '--mount-proc'];
  const options = { env: { ...env, PATH: searchPathOf(env) }, timeout: 10_000 };
  await run('unshare', [...flags, 'ip', 'link', 'set', 'lo', 'up'], options);
}

const OVERLAYFS = 0x794c7630;

/** Returns the snapshotter: overlayfs does not work on an overlay, which is the file system of a container. */
export function snapshotterFor(folder: string): 'overlayfs' | 'native' {
  return statfsSync(folder).type === OVERLAYFS ? 'native' : 'overlayfs';
}
