import { readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second on every Linux that Node runs on. */
const TICK_MS = 10;
const KIB_PER_MIB = 1024;

/**
 * Returns the CPU time of all threads of a process, in milliseconds. Up to ten of the latest milliseconds are
 * missing.
 */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name is in brackets, and may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Returns the resident memory of a process, in MiB. */
export const residentMiB = (pid: number): number => statusMiB(pid, 'VmRSS');

/** Returns the peak resident memory of a process, in MiB. */
export const peakMiB = (pid: number): number => statusMiB(pid, 'VmHWM');

function statusMiB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / KIB_PER_MIB;
}

/** Returns the result of `run`, and the CPU time of each named process meanwhile, in milliseconds. */
export async function withCpu<T>(
  processes: Readonly<Record<string, number>>,
  run: () => Promise<T>,
): Promise<{ readonly value: T; readonly cpu: Readonly<Record<string, number>> }> {
  const before = Object.entries(processes).map(([name, pid]) => [name, pid, cpuMs(pid)] as const);
  const value = await run();
  const cpu = Object.fromEntries(before.map(([name, pid, ms]) => [name, cpuMs(pid) - ms]));
  return { value, cpu };
}
