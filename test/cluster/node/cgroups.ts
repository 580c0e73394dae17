import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Mount points of the cgroup hierarchies; a single one if the machine uses only version 2. */
export interface CgroupMounts {
  readonly version: 1 | 2;
  readonly folders: readonly string[];
}

/** Returns the mounts in a text like /proc/self/mountinfo. A hierarchy that is mounted twice counts once. */
export function cgroupMounts(mountinfo: string): CgroupMounts {
  const folders = new Map<string, string>();
  let hasVersion1 = false;
  for (const line of mountinfo.split('\n')) {
    const [, , device, , folder] = line.split(' ');
    const type = / - (cgroup2?) /.exec(line)?.[1];
    if (type === undefined || device === undefined || folder === undefined) continue;
    hasVersion1 ||= type === 'cgroup';
    if (!folders.has(device)) folders.set(device, folder);
  }
  return { version: hasVersion1 ? 1 : 2, folders: [...folders.values()] };
}

export function readCgroupMounts(): CgroupMounts {
  return cgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
}

/** Controllers that the kubelet requires. */
const CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids'];

/** Creates a group of that name at the top of each hierarchy. Throws if version 2 does not delegate its controllers. */
export function makeCgroups(name: string, { version, folders }: CgroupMounts): void {
  if (version === 2) for (const folder of folders) passOn(folder);
  for (const folder of folders) mkdirSync(join(folder, name));
}

function passOn(folder: string): void {
  const path = join(folder, 'cgroup.subtree_control');
  const passed = readFileSync(path, 'utf8').split(/\s+/);
  for (const controller of CONTROLLERS.filter((one) => !passed.includes(one))) {
    try {
      writeFileSync(path, `+${controller}`);
    } catch (error) {
      throw new Error(`${path} does not take +${controller}: ${String(error)}`);
    }
  }
}

/** Removes the group and those below it; one that still has processes stays. */
export function removeCgroups(name: string, { folders }: CgroupMounts): void {
  for (const folder of folders) removeTree(join(folder, name));
}

function removeTree(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  try {
    rmdirSync(folder);
  } catch {
    // Its processes are going; whoever asked asks again.
  }
}

/** Returns true if a group of that name still exists. */
export function hasCgroups(name: string, { folders }: CgroupMounts): boolean {
  return folders.some((folder) => existsSync(join(folder, name)));
}
