/**
 * Runs beside a rehearsal, in a process group of its own, and ends with it in any case: when its stdin closes it ends
 * the registered process groups and deletes the folder. Lines are `+GROUP` and `-GROUP`.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const GRACE_MS = 5000;
const POLL_MS = 50;
const [folder = ''] = process.argv.slice(2);
const groups = new Set<number>();

/** Returns true if the group had a process to take the signal. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}

async function endGroups(): Promise<void> {
  for (const group of groups) signalGroup(group, 'SIGTERM');
  const deadline = performance.now() + GRACE_MS;
  while ([...groups].some((group) => signalGroup(group, 0)) && performance.now() < deadline)
    await sleep(POLL_MS);
  for (const group of groups) signalGroup(group, 'SIGKILL');
}

// The rehearsal decides when it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
for await (const line of createInterface({ input: process.stdin })) {
  const group = Number(line.slice(1));
  if (line.startsWith('+')) groups.add(group);
  else groups.delete(group);
}
await endGroups();
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
