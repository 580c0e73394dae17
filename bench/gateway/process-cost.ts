import { readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second on every Linux that Node runs on. */
const TICK_MS = 10;
const KIB_PER_MIB = 1024;

/** Processor time of all threads of a process so far, in milliseconds, of which the last ten are not counted yet. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name is in brackets, and may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory of a process, in MiB. */
export const residentMiB = (pid: number): number => statusMiB(pid, 'VmRSS');

/** The most that was resident since the process began, in MiB. */
export const peakMiB = (pid: number): number => statusMiB(pid, 'VmHWM');

function statusMiB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / KIB_PER_MIB;
}

/** What `run` resolves to, and the processor time that each process took meanwhile, in milliseconds, by its name. */
export async function withCpu<T>(
  processes: Readonly<Record<string, number>>,
  run: () => Promise<T>,
): Promise<{ readonly value: T; readonly cpu: Readonly<Record<string, number>> }> {
  const before = Object.entries(processes).map(([name, pid]) => [name, pid, cpuMs(pid)] as const);
  const value = await run();
  const cpu = Object.fromEntries(before.map(([name, pid, ms]) => [name, cpuMs(pid) - ms]));
  return { value, cpu };
}
