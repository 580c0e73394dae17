import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCgroupMounts } from './cgroups.ts';

/** Folders in which a node that was not contained would leave something. */
const FOLDERS = ['/etc/cni', '/opt', '/run', '/usr/libexec', '/var/lib', '/var/log'];

/**
 * Returns everything that a node could leave on this machine, as sorted lines. Equal lists before and after prove
 * that it left nothing.
 */
export function tracesOnThisMachine(): string[] {
  const entries = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
  const { folders } = readCgroupMounts();
  const temporary = entries(tmpdir()).filter((name) => name.startsWith('gpu-rental-node-'));
  return [
    ...lines(readFileSync('/proc/self/mountinfo', 'utf8')).map((line) => `mount ${line.split(' ')[4]}`),
    ...lines(execFileSync('ip', ['-oneline', 'link'])).map((line) => `link ${line.split(' ')[1]}`),
    ...lines(execFileSync('ip', ['route'])).map((line) => `route ${line}`),
    ...folders.flatMap((folder) =>
      entries(folder)
        .filter((name) => name.startsWith('gpu-rental-'))
        .map((name) => `cgroup ${join(folder, name)}`),
    ),
    ...FOLDERS.flatMap((folder) => entries(folder).map((name) => `file ${join(folder, name)}`)),
    ...temporary.map((name) => `file ${join(tmpdir(), name)}`),
    ...nodeProcesses(),
  ].toSorted();
}

const lines = (text: string | Buffer): string[] => text.toString().split('\n').filter(Boolean);

/** Processes in a group of a node, and programs that only a node runs. */
function nodeProcesses(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        const inGroup = readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes('gpu-rental-node-');
        return inGroup || /kubelet|containerd|unshare .*init\.sh/.test(command)
          ? [`process ${pid} ${command}`]
          : [];
      } catch {
        return [];
      }
    });
}
