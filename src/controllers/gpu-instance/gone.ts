import { parseTime } from '../../lib/time.ts';
import type { Facts } from './facts.ts';
import { areApart } from './settlement.ts';
import type { AbsenceView, DestroyMark } from './types.ts';

/** State of the proof that a machine no longer exists. */
export type GoneProof =
  /** Still listed, or its single read found it again. */
  | { readonly type: 'present' }
  /** A list that begins at or after this steady time proves it, if the time is known. */
  | { readonly type: 'waiting'; readonly provableAt?: number }
  /** The lists agree; its single read is missing. */
  | { readonly type: 'needsRead' }
  /** Lists and read agree; without the operator's own destroy the key must also prove its login. */
  | { readonly type: 'needsLogin' }
  | { readonly type: 'gone' };

const NOTHING_SEEN: AbsenceView = { lists: [], read: undefined };

/**
 * Returns the proof that a machine is gone. After the operator's own destroy it requires two complete lists, begun
 * after its answer and far enough apart, and then a read that answers absent: a fault that hides a machine from lists
 * may also hide it from an earlier read. Without a destroy the lists are further apart and the key must have just
 * proved its login, since a service may answer a wrong key with empty lists.
 */
export function goneProof(facts: Pick<Facts, 'machine' | 'clock' | 'memory'>, instanceId: string): GoneProof {
  const mark = facts.memory.destroys.find((candidate) => candidate.instanceId === instanceId);
  const absence = facts.machine.absences.get(instanceId) ?? NOTHING_SEEN;
  if (absence.read === 'present') return { type: 'present' };
  if (absence.lists.length === 0) return { type: facts.machine.list ? 'present' : 'waiting' };
  const lists = countingLists(facts, absence.lists, mark);
  const { goneSpacingMs, listLagMs } = facts.clock.constants;
  if (!areApart(lists, mark ? goneSpacingMs : listLagMs)) {
    const [first] = lists;
    if (!mark || first === undefined) return { type: 'waiting' };
    return { type: 'waiting', provableAt: first + goneSpacingMs };
  }
  return afterLists(facts, absence.read, mark);
}

/**
 * Returns the proof after lists agree. The machine's own read, and without a destroy by the operator the key's login,
 * complete it.
 */
function afterLists(
  { machine: { loginProven } }: Pick<Facts, 'machine'>,
  read: Exclude<AbsenceView['read'], 'present'>,
  mark: DestroyMark | undefined,
): GoneProof {
  if (read === undefined) return { type: 'needsRead' };
  if (read === 'failed') return { type: 'waiting' };
  if (mark || loginProven === true) return { type: 'gone' };
  return { type: loginProven === undefined ? 'needsLogin' : 'waiting' };
}

/** Lists begun before a new machine had to be visible prove nothing about it. */
function countingLists(
  { machine: { visibleFrom } }: Pick<Facts, 'machine'>,
  lists: readonly number[],
  mark: DestroyMark | undefined,
): readonly number[] {
  if (mark) return lists.filter((begun) => begun > mark.answeredAt);
  return lists.filter((begun) => begun >= visibleFrom);
}

/**
 * Returns the time in the reply to the destroy of the recorded machine, in service time: by this process, else by an
 * earlier one. Undefined if no reply is known.
 */
export function destroyAnsweredAt(
  { object, memory }: Pick<Facts, 'object' | 'memory'>,
  instanceId: string,
): number | undefined {
  const mark = memory.destroys.find((candidate) => candidate.instanceId === instanceId);
  if (mark) return mark.endedAt;
  const { instanceId: recorded, answered } = object.status ?? {};
  return recorded === instanceId && answered?.action === 'Destroy' ? parseTime(answered.at) : undefined;
}

/**
 * Returns the begin of the first list without the recorded machine, in service time: by the record, else by the lists of
 * this process; the present time if no such list is known. Undefined while the service time is unknown.
 */
export function missingSince(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  instanceId: string,
): number | undefined {
  const { serviceNow } = facts.clock;
  return serviceNow === undefined ? onRecord(facts) : missingBy(facts, instanceId, serviceNow);
}

/** Returns the time of {@link missingSince} if the present time (`now`, epoch milliseconds) is right. */
export function missingBy(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  instanceId: string,
  now: number,
): number {
  const first = facts.machine.absences.get(instanceId)?.lists.find(Number.isFinite);
  const passedMs = first === undefined ? 0 : Math.max(0, facts.clock.steadyNow - first);
  return onRecord(facts) ?? now - passedMs;
}

function onRecord({ object }: Pick<Facts, 'object'>): number | undefined {
  return parseTime(object.status?.missingSince);
}

/**
 * Returns the time at which an answered destroy is repeated if a later list still shows its machine: half the time that
 * lists may lag. A repeated destroy of a gone machine costs one call; a destroy that was confirmed and not carried out
 * then stops the billing.
 */
export function destroyRepeatsAt({ clock: { constants } }: Pick<Facts, 'clock'>, mark: DestroyMark): number {
  return mark.answeredAt + constants.listLagMs / 2;
}

/** Returns true if that machine was destroyed so recently that the list may only lag behind. */
export function isDestroyPending(
  facts: Pick<Facts, 'machine' | 'clock' | 'memory'>,
  instanceId: string,
): boolean {
  const mark = facts.memory.destroys.find((each) => each.instanceId === instanceId);
  return mark !== undefined && (facts.machine.list?.begunSteady ?? 0) <= destroyRepeatsAt(facts, mark);
}
