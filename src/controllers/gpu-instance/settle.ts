import type { Instance } from '../../marketplace/instances/instance.ts';
import { isForLogin, type RentalIntent } from '../../ownership/intent.ts';
import { factsOf, settledAttempt } from './recorded.ts';
import type { Observed } from './types.ts';
import type { ListedMachine } from './views.ts';

/** How the outcome of an open intent stands. */
export type Settlement =
  | { readonly type: 'none' }
  /** It carries the label of exactly this purchase. */
  | { readonly type: 'found'; readonly intent: RentalIntent; readonly instanceId: number }
  /** The service said no, or no machine can appear any more. */
  | { readonly type: 'nothingCame'; readonly intent: RentalIntent }
  | { readonly type: 'unknown'; readonly intent: RentalIntent; readonly settlesAt: number }
  /** A machine carries the label of exactly this purchase, and began outside the label's window. */
  | { readonly type: 'late'; readonly intent: RentalIntent; readonly machine: Instance }
  /** More than one new machine could be it, or one that may be somebody's own. */
  | { readonly type: 'ambiguous'; readonly intent: RentalIntent; readonly candidates: readonly number[] };

/**
 * The newest intent of this object whose result is not recorded. The annotation counts, and what this process
 * wrote last where someone took the annotation away.
 */
export function openIntent(observed: Observed): RentalIntent | undefined {
  const { intent, memory, uid } = observed;
  const written = intent.type === 'intent' && intent.intent.uid === uid ? intent.intent : undefined;
  const newest = [written, memory.intent]
    .filter((candidate) => candidate !== undefined)
    .reduce<RentalIntent | undefined>(
      (best, next) => (next.attempt > (best?.attempt ?? 0) ? next : best),
      undefined,
    );
  return newest && newest.attempt > settledAttempt(observed) ? newest : undefined;
}

/** From when on a complete list that does not show the machine proves that none will come. */
export function settlesAt(intent: RentalIntent, observed: Observed): number {
  const { lateCallMs, listLagMs } = observed.constants;
  return deadlineOf(intent, observed) + lateCallMs + listLagMs;
}

/** The deadline of an intent in steady time. */
export function deadlineOf(intent: RentalIntent, { memory }: Observed): number {
  return memory.intentDeadline?.attempt === intent.attempt ? memory.intentDeadline.at : intent.deadline;
}

/** What is known about the open intent (never from one answer alone, unless it was a definite refusal). */
export function settlement(observed: Observed): Settlement {
  const intent = openIntent(observed);
  if (!intent) return { type: 'none' };
  const { rented } = observed.memory;
  if (rented?.attempt === intent.attempt) return { type: 'found', intent, instanceId: rented.instanceId };
  const found = intent.knownIds ? foundWithoutLabel(observed, intent) : foundByLabel(observed, intent);
  if (found) return found;
  const late = lateMachine(observed, intent);
  if (late) return { type: 'late', intent, machine: late };
  if (isRefused(observed, intent)) return { type: 'nothingCame', intent };
  const at = settlesAt(intent, observed);
  const facts = factsOf(observed);
  const countable = facts !== undefined && isForLogin(intent, facts.login);
  if (countable && observed.listsBegun.some((begun) => begun > at)) return { type: 'nothingCame', intent };
  return { type: 'unknown', intent, settlesAt: at };
}

function isRefused({ memory: { refused } }: Observed, intent: RentalIntent): boolean {
  return refused?.attempt === intent.attempt && refused.issuedAt === intent.issuedAt;
}

function foundByLabel(observed: Observed, intent: RentalIntent): Settlement | undefined {
  const machine = observed.list?.labelled.find(({ ownership }) => attemptOf(ownership) === intent.attempt);
  return machine && { type: 'found', intent, instanceId: machine.row.id };
}

/**
 * The same for the newest purchase when it was closed without a machine: nothing else is rented while its late machine is
 * listed. If a machine of that purchase has ended, it had one, and this is a copy.
 */
export function lateMachineOfClosed(
  observed: Observed,
): { readonly machine: Instance; readonly attempt: number } | undefined {
  const { intent, uid, object } = observed;
  if (intent.type !== 'intent' || intent.intent.uid !== uid || openIntent(observed)) return undefined;
  const { attempt } = intent.intent;
  const hadMachine = object.status?.history?.some((past) => past.attempt === attempt);
  const machine = hadMachine ? undefined : lateMachine(observed, intent.intent);
  return machine && { machine, attempt };
}

/** The same while a list that lacks it is no proof that it is gone. */
function lateMachine(observed: Observed, intent: RentalIntent): Instance | undefined {
  const listed = listedLate(observed.list?.labelled ?? [], intent);
  const { late } = observed.memory;
  if (listed || late?.attempt !== intent.attempt || late.issuedAt !== intent.issuedAt) return listed;
  return isLongMissing(observed, late.machine.id) ? undefined : late.machine;
}

/**
 * A listed machine whose label verifies and names this purchase and its issue time, whatever its start: only this rent call
 * carried that label. It may be our rental, carried out late, so nothing else is rented while it is there.
 */
export function listedLate(
  labelled: readonly ListedMachine[],
  { attempt, issuedAt }: Pick<RentalIntent, 'attempt' | 'issuedAt'>,
): Instance | undefined {
  const isOfPurchase = ({ ownership }: ListedMachine) =>
    ownership.type === 'labelCopied' &&
    ownership.facts.attempt === attempt &&
    ownership.facts.issuedAt === issuedAt;
  return labelled.find(isOfPurchase)?.row;
}

/** Whether lists as far apart as they may lag, and all between them, lack a machine that was listed before. */
function isLongMissing({ absences, constants }: Observed, instanceId: number): boolean {
  const lists = absences.get(instanceId)?.lists ?? [];
  return (lists.at(-1) ?? 0) - (lists[0] ?? 0) >= constants.listLagMs;
}

/**
 * Whether the newest purchase was closed without a machine, and this process has read only one list: that one may lack
 * a late machine which lists have shown before.
 */
export function needsSecondList(observed: Observed): boolean {
  const { intent, uid, object, listsBegun } = observed;
  if (intent.type !== 'intent' || intent.intent.uid !== uid || openIntent(observed)) return false;
  const hadMachine = object.status?.history?.some(({ attempt }) => attempt === intent.intent.attempt);
  return !hadMachine && !isRefused(observed, intent.intent) && listsBegun.length < 2;
}

/**
 * Exactly one machine that is new, unlabelled and nobody's: anything else is a person's question. After a certain
 * refusal none is looked for.
 */
function foundWithoutLabel(observed: Observed, intent: RentalIntent): Settlement | undefined {
  const labelled = foundByLabel(observed, intent);
  if (labelled || isRefused(observed, intent)) return labelled;
  const known = new Set(intent.knownIds);
  const isNew = ({ id }: { readonly id: number }) => !known.has(id);
  const { unowned = [], doubtful = [] } = observed.list ?? {};
  const fresh = unowned.filter(isNew);
  const unsure = doubtful.filter(isNew);
  const candidates = [...fresh, ...unsure].map(({ id }) => id);
  const [only] = candidates;
  if (only === undefined) return undefined;
  if (candidates.length === 1 && unsure.length === 0) return { type: 'found', intent, instanceId: only };
  return { type: 'ambiguous', intent, candidates };
}

/** The attempt that a row's label names, where the label is ours and fits the machine. */
export function attemptOf(ownership: ListedMachine['ownership']): number | undefined {
  return ownership.type === 'labelled' || ownership.type === 'undated' ? ownership.facts.attempt : undefined;
}
