/** What a machine is doing. Every decision about a status status begins with this. */
export type StatusClass = 'provisioning' | 'booting' | 'running' | 'stopped' | 'failing' | 'unrecognized';

/**
 * The marketplace's status words (specification 3.1) and those that the public service adds. `destroyed` is a status of a
 * machine that is leaving: it neither serves nor fails, so that what becomes of it is for the next list to say.
 */
const CLASSES: ReadonlyMap<string, StatusClass> = new Map<string, StatusClass>([
  ['provisioning', 'provisioning'],
  ['created', 'booting'],
  ['loading', 'booting'],
  ['rebooting', 'booting'],
  ['running', 'running'],
  ['stopped', 'stopped'],
  ['frozen', 'stopped'],
  ['exited', 'failing'],
  ['unknown', 'failing'],
  ['offline', 'failing'],
  ['destroyed', 'unrecognized'],
]);

/** A machine's status, of a list or of `status.actualStatus`; none while the machine is being provisioned. */
export type MachineStatus = string | null | undefined;

/** The class of a status; `unrecognized` for a status that is not in the table. */
export function statusClass(status: MachineStatus): StatusClass {
  return CLASSES.get(status ?? 'provisioning') ?? 'unrecognized';
}

/** Stopped on request, or frozen by its marketplace: its disk bills, its GPU does not. */
export function isStopped(status: MachineStatus): boolean {
  return statusClass(status) === 'stopped';
}

/** Nothing runs in it and nothing answers: stopped, or its container has ended. */
export function isAtRest(status: MachineStatus): boolean {
  return isStopped(status) || status === 'exited';
}

/** Its container has ended, or its host is not seen. It may recover. */
export function isFailing(status: MachineStatus): boolean {
  return statusClass(status) === 'failing';
}

/** Its host does not answer the marketplace, which says nothing of the container. */
export function isUnseen(status: MachineStatus): boolean {
  return status === 'unknown' || status === 'offline';
}

/** Counts as unhealthy where machines are counted, and is lost if it stays so: failing, or destroyed. */
export function isLost(status: MachineStatus): boolean {
  return isFailing(status) || status === 'destroyed';
}
