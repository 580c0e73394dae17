import { confirmedNow, serviceNow } from '../../accounts/service-clock.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import { claimVerifies } from '../../ownership/claim.ts';
import { isForLogin, type RentalIntent } from '../../ownership/intent.ts';
import type { Login } from '../../ownership/login.ts';
import type { AccountFacts, ListedMachine, Observed } from './types.ts';

/** What was observed and what follows from it, derived once in each round: rules take this and their stage. */
export interface Facts extends Observed {
  readonly isDeleting: boolean;
  /** Of the account's login, whether or not it may rent now. */
  readonly accountFacts: AccountFacts | undefined;
  /** Undefined if the status names none, or the claim is not ours: then the record proves nothing. */
  readonly ownedMachine: OwnedMachine | undefined;
  /** The number of the present or last settled purchase; 0 before the first. */
  readonly settledAttempt: number;
  /** The newest intent of this object whose result is not recorded. */
  readonly openIntent: RentalIntent | undefined;
  readonly intentOutcome: IntentOutcome;
  /** Ids that this object once held and gave up: a list may still show them for a while. */
  readonly endedIds: ReadonlySet<string>;
  /**
   * The time by which costs are dated and rentals refused: the service's clock if it says one, since our own may have been
   * set ahead by a day. Undefined while it is stale; later replies decide.
   */
  readonly serviceNow: number | undefined;
  /** The time by which a machine may be ended for its age, its cost or an annotation. */
  readonly confirmedNow: number | undefined;
}

/** A machine that the object's status names with a claim that we made. */
export interface OwnedMachine {
  readonly instanceId: string;
  readonly attempt: number;
}

/** Everything that more than one rule asks of an observation. Pure: the same observation gives the same facts. */
export function deriveFacts(observed: Observed): Facts {
  const { object, memory, account, now } = observed;
  const accountFacts = account.state === 'missing' ? undefined : account.facts;
  const settledAttempt = object.status?.attempt ?? 0;
  const openIntent = openIntentOf(observed, settledAttempt);
  const serviceTime = accountFacts?.serviceTime ?? { type: 'unknown' };
  const ended = [...(object.status?.history ?? []), ...memory.destroys];
  return {
    ...observed,
    isDeleting: object.metadata.deletionTimestamp !== undefined,
    accountFacts,
    ownedMachine: ownedMachineOf(observed, accountFacts?.login, settledAttempt),
    settledAttempt,
    openIntent,
    intentOutcome: outcomeOf(observed, openIntent, accountFacts?.login),
    endedIds: new Set(ended.map(({ instanceId }) => instanceId)),
    serviceNow: serviceNow(serviceTime, now),
    // Of a service that never says its time: ours, as long as no jump of the wall clock brought it there.
    confirmedNow: confirmedNow(serviceTime, Math.min(now, observed.steadyNow)),
  };
}

function ownedMachineOf(
  { object: { status }, uid, identity }: Observed,
  login: Login | undefined,
  attempt: number,
): OwnedMachine | undefined {
  const { instanceId, claim } = status ?? {};
  if (instanceId === undefined || login === undefined) return undefined;
  const isProven = claimVerifies(identity.keys, { login, uid, attempt, instanceId }, claim);
  return isProven ? { instanceId, attempt } : undefined;
}

/** How the outcome of an open intent stands. */
export type IntentOutcome =
  | { readonly type: 'none' }
  /** It carries the label of exactly this purchase. */
  | { readonly type: 'found'; readonly intent: RentalIntent; readonly instanceId: string }
  /** The service said no, or no machine can appear any more. */
  | { readonly type: 'nothingCame'; readonly intent: RentalIntent }
  | { readonly type: 'unknown'; readonly intent: RentalIntent; readonly settlesAt: number }
  /** A machine carries the label of exactly this purchase, and began outside the label's window. */
  | { readonly type: 'late'; readonly intent: RentalIntent; readonly machine: Instance }
  /** More than one new machine could be it, or one that may be somebody's own. */
  | { readonly type: 'ambiguous'; readonly intent: RentalIntent; readonly candidates: readonly string[] };

/**
 * The newest intent of this object whose result is not recorded. The annotation counts, and what this process
 * wrote last where someone took the annotation away.
 */
function openIntentOf({ intent, memory, uid }: Observed, settledAttempt: number): RentalIntent | undefined {
  const written = intent.type === 'intent' && intent.intent.uid === uid ? intent.intent : undefined;
  const isWrittenNewest = written && written.attempt >= (memory.intent?.attempt ?? 0);
  const newest = isWrittenNewest ? written : memory.intent;
  return newest && newest.attempt > settledAttempt ? newest : undefined;
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
function outcomeOf(
  observed: Observed,
  intent: RentalIntent | undefined,
  login: Login | undefined,
): IntentOutcome {
  if (!intent) return { type: 'none' };
  const { rented } = observed.memory;
  if (rented?.attempt === intent.attempt) return { type: 'found', intent, instanceId: rented.instanceId };
  const found = intent.knownIds ? foundWithoutLabel(observed, intent) : foundByLabel(observed, intent);
  if (found) return found;
  const late = lateMachine(observed, intent);
  if (late) return { type: 'late', intent, machine: late };
  if (isRefused(observed, intent)) return { type: 'nothingCame', intent };
  const at = settlesAt(intent, observed);
  const countable = login !== undefined && isForLogin(intent, login);
  if (countable && observed.listsBegun.some((begun) => begun > at)) return { type: 'nothingCame', intent };
  return { type: 'unknown', intent, settlesAt: at };
}

function isRefused({ memory: { refused } }: Observed, intent: RentalIntent): boolean {
  return refused?.attempt === intent.attempt && refused.issuedAt === intent.issuedAt;
}

function foundByLabel(observed: Observed, intent: RentalIntent): IntentOutcome | undefined {
  const machine = observed.list?.labelled.find(({ ownership }) => attemptOf(ownership) === intent.attempt);
  return machine && { type: 'found', intent, instanceId: machine.row.id };
}

/** A machine that carries the label of a purchase that was closed without one. */
export interface LateMachine {
  readonly machine: Instance;
  readonly attempt: number;
}

/** Of any purchase that was closed without a machine: nothing else is rented while its late machine is listed. */
export function lateMachineOfClosed(facts: Facts): LateMachine | undefined {
  return lateMachineOfNewest(facts) ?? lateMachineOfEarlier(facts);
}

function lateMachineOfNewest(facts: Facts): LateMachine | undefined {
  const intent = closedWithoutMachine(facts);
  if (!intent) return undefined;
  const machine = lateMachine(facts, intent);
  return machine && { machine, attempt: intent.attempt };
}

/** It may come while a later purchase is open, and would otherwise be hidden behind that for good. */
function lateMachineOfEarlier(facts: Facts): LateMachine | undefined {
  const { intent, settledAttempt, list, memory } = facts;
  const newest = Math.max(settledAttempt, intent.type === 'intent' ? intent.intent.attempt : 0);
  const known = memory.late && !isLongMissing(facts, memory.late.machine.id) ? [memory.late] : [];
  const late = [...listedLateBefore(list?.labelled ?? [], newest), ...known];
  return late.find(({ attempt }) => attempt < newest && !hadMachine(facts, attempt));
}

/** The newest purchase, if it was closed without a machine. */
function closedWithoutMachine(facts: Facts): RentalIntent | undefined {
  const { intent, uid, openIntent } = facts;
  if (intent.type !== 'intent' || intent.intent.uid !== uid || openIntent) return undefined;
  return hadMachine(facts, intent.intent.attempt) ? undefined : intent.intent;
}

/** If a machine of that purchase has ended, another one with its label is a copy. */
function hadMachine({ object }: Facts, attempt: number): boolean {
  return object.status?.history?.some((past) => past.attempt === attempt) ?? false;
}

/** A listed late machine, or one listed before, while a list that lacks it is no proof that it is gone. */
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

/** Late machines of purchases before this one, as their labels say. One that began a day after its label is no rental of ours. */
export function listedLateBefore(
  labelled: readonly ListedMachine[],
  newest: number,
): readonly (LateMachine & Pick<RentalIntent, 'issuedAt'>)[] {
  return labelled.flatMap(({ row, ownership }) => {
    if (ownership.type !== 'labelCopied' || !ownership.isLate) return [];
    const { attempt, issuedAt } = ownership.facts;
    return attempt < newest ? [{ machine: row, attempt, issuedAt }] : [];
  });
}

/** Whether lists as far apart as they may lag, and all between them, lack a machine that was listed before. */
function isLongMissing({ absences, constants }: Observed, instanceId: string): boolean {
  const lists = absences.get(instanceId)?.lists ?? [];
  return (lists.at(-1) ?? 0) - (lists[0] ?? 0) >= constants.listLagMs;
}

/**
 * Whether the newest purchase was closed without a machine, and this process has read only one list: that one may lack
 * a late machine which lists have shown before.
 */
export function needsSecondList(facts: Facts): boolean {
  const intent = closedWithoutMachine(facts);
  return intent !== undefined && !isRefused(facts, intent) && facts.listsBegun.length < 2;
}

/**
 * Exactly one machine that is new, unlabelled and nobody's: anything else is a person's question. After a certain
 * refusal none is looked for.
 */
function foundWithoutLabel(observed: Observed, intent: RentalIntent): IntentOutcome | undefined {
  const labelled = foundByLabel(observed, intent);
  if (labelled || isRefused(observed, intent)) return labelled;
  const known = new Set(intent.knownIds);
  const isNew = ({ id }: { readonly id: string }) => !known.has(id);
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
