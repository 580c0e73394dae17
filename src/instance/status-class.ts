/** What a machine is doing. Every decision about a status word begins with this. */
export type StatusClass = 'provisioning' | 'booting' | 'running' | 'stopped' | 'failing' | 'unrecognized';

/**
 * The marketplace's status words (specification 3.1) and those that the public service adds. `destroyed` is a word of a
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

/** A status word, of a list or of `status.actualStatus`; none while the machine is being provisioned. */
export type StatusWord = string | null | undefined;

/** The class of a word; `unrecognized` for a word that is not in the table. */
export function statusClass(word: StatusWord): StatusClass {
  return CLASSES.get(word ?? 'provisioning') ?? 'unrecognized';
}

/** Stopped on request, or frozen by its marketplace: its disk bills, its GPU does not. */
export function isStopped(word: StatusWord): boolean {
  return statusClass(word) === 'stopped';
}

/** Nothing runs in it and nothing answers: stopped, or its container has ended. */
export function isAtRest(word: StatusWord): boolean {
  return isStopped(word) || word === 'exited';
}

/** Its container has ended, or its host is not seen. It may recover. */
export function isFailing(word: StatusWord): boolean {
  return statusClass(word) === 'failing';
}

/** Its host does not answer the marketplace, which says nothing of the container. */
export function isUnseen(word: StatusWord): boolean {
  return word === 'unknown' || word === 'offline';
}

/** Counts as unhealthy where machines are counted, and is lost if it stays so: failing, or destroyed. */
export function isLost(word: StatusWord): boolean {
  return isFailing(word) || word === 'destroyed';
}
