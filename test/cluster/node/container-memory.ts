import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerName, NodeAccess } from './access.ts';
import { readCgroupMounts } from './cgroups.ts';

/**
 * Memory that the kernel counts against a container's limit, in bytes, including the page cache of files that it
 * read.
 */
export interface ContainerMemory {
  readonly usage: number;
  /** The most so far. */
  readonly peak: number;
}

const FILES = {
  1: { usage: 'memory.usage_in_bytes', peak: 'memory.max_usage_in_bytes', line: /^\d+:memory:(.*)$/m },
  2: { usage: 'memory.current', peak: 'memory.peak', line: /^0::(.*)$/m },
} as const;

/**
 * Reads a container's memory. Rejects if container processes are not processes of this machine, or if the container
 * does not run.
 */
export async function readContainerMemory(
  node: NodeAccess,
  container: ContainerName,
): Promise<ContainerMemory> {
  const [pid] = await node.processIdsOf(container);
  const { version, folders } = readCgroupMounts();
  const { usage, peak, line } = FILES[version];
  const group = line.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? '';
  const read = (file: string): number => {
    for (const folder of folders) {
      try {
        return Number(readFileSync(join(folder, group, file), 'utf8'));
      } catch {
        // That hierarchy is of another controller.
      }
    }
    throw new Error(`No ${file} for ${container.pod}: its control group is ${group}.`);
  };
  return { usage: read(usage), peak: read(peak) };
}
