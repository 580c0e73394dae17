import { afterRead, type Machine } from '../../accounts/beliefs/machine.ts';
import { believedNow, confirmedNow, serviceNow } from '../../accounts/service-clock.ts';
import { claimVerifies } from '../../ownership/claim.ts';
import { isForLogin, type RentalIntent } from '../../ownership/intent.ts';
import type { Login } from '../../ownership/login.ts';
import {
  intentOfPurchase,
  labelEchoOf,
  type ProvisionalRecord,
  provisionalRecord,
  type RecordProof,
  recordProof,
} from './record-proof.ts';
import { areApart, listsAgreeAfter, listsSpanLag, settlesAt, visibleFrom } from './settlement.ts';
import type {
  ListedMachine,
  ListView,
  Observed,
  OwnedMachine,
  PassTimes,
  SeenMachines,
  SeenPurchase,
} from './types.ts';
import { keepsNoLabels } from './unlabelled-proof.ts';

/** Machines of one object, and which of them is proven to be its own. */
export interface KnownMachines extends SeenMachines {
  /** Undefined if the status names no machine, or its claim is not valid: then the record proves nothing. */
  readonly owned: OwnedMachine | undefined;
  /** Proof of the recorded machine, if the claim is valid. */
  readonly recordProof: RecordProof;
  /** Set while only the reply to its rental names the recorded machine, also if lists contradict it. */
  readonly provisional: ProvisionalRecord | undefined;
  /**
   * The recorded machine if lists show that it is not of its purchase; then the reply to the rental decides nothing.
   */
  readonly disowned: OwnedMachine | undefined;
  /** Ids of this object's former machines: a list may still show them for a while. */
  readonly endedIds: ReadonlySet<string>;
  /** Steady time from which lists must show the machine of the recorded purchase: an earlier absence proves nothing. */
  readonly visibleFrom: number;
}

/** The last purchase of one object, and how it came out. */
export interface KnownPurchase extends SeenPurchase {
  /** The number of the present or last settled purchase; 0 before the first. */
  readonly settledAttempt: number;
  /** The newest intent of this object whose result is not recorded. */
  readonly openIntent: RentalIntent | undefined;
  readonly intentOutcome: IntentOutcome;
}

/** Times of one pass by every clock. */
export interface KnownTimes extends PassTimes {
  /**
   * Time that dates costs and refuses rentals: the service's clock if it sends one, since the operator's own may be
   * ahead by a day. Undefined while it is stale; later replies decide.
   */
  readonly serviceNow: number | undefined;
  /**
   * Time that dates costs and ends of machines that cannot wait for `serviceNow`: it is also known while that is stale.
   * `now` dates neither, because the operator's wall clock may be wrong by an hour.
   */
  readonly believedNow: number;
  /** Time by which a machine may be ended for its age, its cost or an annotation. */
  readonly confirmedNow: number | undefined;
}

/**
 * Observation and the values derived from it, computed once per round; the input of rules in addition to their stage.
 */
export interface Facts extends Observed {
  readonly machine: KnownMachines;
  readonly purchase: KnownPurchase;
  readonly clock: KnownTimes;
}

/** Facts about a held machine: all but those of its purchase. */
export type HeldFacts = Omit<Facts, 'purchase'>;

/** Facts about which machines are the object's own: all but those of its account. */
export type OwnershipFacts = Omit<Facts, 'account' | 'budgetStop'>;

/**
 * Returns the values that several rules derive from an observation. Pure: the same observation gives the same facts.
 */
export function deriveFacts(seen: Observed): Facts {
  const { object, account, clock } = seen;
  const login = account.facts?.login;
  const record = recordOf(seen, login);
  const observed = { ...seen, memory: believedMemory(seen, record) };
  const { memory } = observed;
  const { settledAttempt, ...machine } = record;
  const openIntent = openIntentOf(observed, settledAttempt);
  const intentOutcome = outcomeOf(observed, openIntent, { login, disowned: record.disowned });
  const serviceTime = account.facts?.serviceTime ?? { type: 'unknown' };
  const ended = [...(object.status?.history ?? []), ...memory.destroys];
  return {
    ...observed,
    machine: {
      ...observed.machine,
      ...machine,
      list: listAfterRead(observed),
      endedIds: new Set(ended.map(({ instanceId }) => instanceId)),
      visibleFrom: visibleFrom(observed),
    },
    purchase: { ...observed.purchase, settledAttempt, openIntent, intentOutcome },
    clock: {
      ...clock,
      serviceNow: serviceNow(serviceTime, clock.now),
      believedNow: believedNow(serviceTime, clock.now),
      // For a service that never sends its time it is the operator's, unless a jump of the wall clock produced it.
      confirmedNow: confirmedNow(serviceTime, Math.min(clock.now, clock.steadyNow)),
    },
  };
}

/** Returns true if the object is being deleted. */
export function isDeleting({ metadata }: Facts['object']): boolean {
  return metadata.deletionTimestamp !== undefined;
}

type RecordFacts = Pick<KnownMachines, 'owned' | 'recordProof' | 'provisional' | 'disowned'> &
  Pick<KnownPurchase, 'settledAttempt'>;

/**
 * Returns the recorded machine. If lists contradict it, its purchase is open again, as if the reply to the rental were
 * missing.
 */
function recordOf(observed: Observed, login: Login | undefined): RecordFacts {
  const attempt = observed.object.status?.attempt ?? 0;
  const owned = ownedMachineOf(observed, login, attempt);
  const proof = owned ? recordProof(observed, owned) : 'confirmed';
  const isDisowned = proof === 'contradicted' && intentOfPurchase(observed, attempt) !== undefined;
  const provisional = owned && provisionalRecord(observed, owned);
  const checked = { recordProof: proof, provisional };
  return isDisowned
    ? { ...checked, owned: undefined, disowned: owned, settledAttempt: attempt - 1 }
    : { ...checked, owned, disowned: undefined, settledAttempt: attempt };
}

/**
 * Returns the memory without an answered rental that must not decide: one that lists contradict, or an unsaved one of
 * a deleted object, whose machine is found in lists.
 */
function believedMemory(
  observed: Pick<Observed, 'object' | 'account' | 'memory'>,
  { disowned }: RecordFacts,
): Observed['memory'] {
  const { memory, object } = observed;
  const echo = labelEchoOf(observed);
  const isDestroyed = memory.destroys.some(({ instanceId }) => instanceId === memory.rented?.instanceId);
  const goesByLists = object.metadata.deletionTimestamp !== undefined && !isDestroyed;
  const isJudged = (echo !== undefined && echo !== 'notEchoed') || keepsNoLabels(observed);
  const isDoubtful = disowned !== undefined || (goesByLists && isJudged);
  return isDoubtful && memory.rented ? { ...memory, rented: undefined } : memory;
}

/** Returns the latest list, with the fields of the recorded machine that a read in this reconcile confirmed. */
function listAfterRead({ machine: { list, confirmed } }: Pick<Observed, 'machine'>): ListView | undefined {
  if (!list?.recorded || confirmed?.instanceId !== list.recorded.id) return list;
  const { read } = confirmed;
  return typeof read === 'string' ? list : { ...list, recorded: afterRead(list.recorded, read) };
}

function ownedMachineOf(
  { object: { status }, purchase: { uid, identity } }: Pick<Observed, 'object' | 'purchase'>,
  login: Login | undefined,
  attempt: number,
): OwnedMachine | undefined {
  const { instanceId, claim } = status ?? {};
  if (instanceId === undefined || login === undefined) return undefined;
  const isProven = claimVerifies(identity.keys, { login, uid, attempt, instanceId }, claim);
  return isProven ? { instanceId, attempt } : undefined;
}

/** State of the outcome of an open intent. */
export type IntentOutcome =
  | { readonly type: 'none' }
  /** The machine carries the label of exactly this purchase. */
  | { readonly type: 'found'; readonly intent: RentalIntent; readonly instanceId: string }
  /** The service refused, or no machine can appear any more. */
  | { readonly type: 'nothingCame'; readonly intent: RentalIntent }
  | { readonly type: 'unknown'; readonly intent: RentalIntent; readonly settlesAt: number }
  /** A machine carries the label of exactly this purchase, and began outside the label's window. */
  | { readonly type: 'late'; readonly intent: RentalIntent; readonly row: Machine }
  /** Several new machines could be the rented one, or one machine that may belong to a person. */
  | { readonly type: 'ambiguous'; readonly intent: RentalIntent; readonly candidates: readonly Machine[] };

/**
 * Returns the newest intent of this object whose result is not recorded. The annotation counts, or this process's last
 * write if the annotation was removed.
 */
function openIntentOf(
  { purchase: { intent, uid }, memory }: Pick<Observed, 'purchase' | 'memory'>,
  settledAttempt: number,
): RentalIntent | undefined {
  const written = intent.type === 'intent' && intent.intent.uid === uid ? intent.intent : undefined;
  const isWrittenNewest = written && written.attempt >= (memory.intent?.attempt ?? 0);
  const newest = isWrittenNewest ? written : memory.intent;
  return newest && newest.attempt > settledAttempt ? newest : undefined;
}

/** Returns the outcome of the open intent. A single reply never decides it, except a definite refusal. */
function outcomeOf(
  observed: Pick<Observed, 'machine' | 'clock' | 'memory'>,
  intent: RentalIntent | undefined,
  { login, disowned }: { readonly login: Login | undefined; readonly disowned: OwnedMachine | undefined },
): IntentOutcome {
  if (!intent) return { type: 'none' };
  const { rented } = observed.memory;
  if (rented?.attempt === intent.attempt) return { type: 'found', intent, instanceId: rented.instanceId };
  const found = intent.knownIds
    ? foundWithoutLabel(observed, intent, disowned)
    : foundByLabel(observed, intent);
  if (found) return found;
  const late = lateMachine(observed, intent);
  if (late) return { type: 'late', intent, row: late };
  if (isRefused(observed, intent)) return { type: 'nothingCame', intent };
  const at = settlesAt(intent, observed);
  const countable = login !== undefined && isForLogin(intent, login);
  if (countable && listsAgreeAfter(observed, at)) return { type: 'nothingCame', intent };
  return { type: 'unknown', intent, settlesAt: at };
}

function isRefused({ memory: { refused } }: Pick<Observed, 'memory'>, intent: RentalIntent): boolean {
  return refused?.attempt === intent.attempt && refused.issuedAt === intent.issuedAt;
}

function foundByLabel(observed: Pick<Observed, 'machine'>, intent: RentalIntent): IntentOutcome | undefined {
  const listed = observed.machine.list?.labelled.find(
    ({ ownership }) => attemptOf(ownership) === intent.attempt,
  );
  return listed && { type: 'found', intent, instanceId: listed.row.id };
}

/** A machine that carries the label of a purchase that was closed without one. */
export interface LateMachine {
  readonly row: Machine;
  readonly attempt: number;
}

/**
 * Returns the late machine of any purchase that was closed without a machine. While it is listed, nothing else is
 * rented.
 */
export function lateMachineOfClosed(facts: OwnershipFacts): LateMachine | undefined {
  return lateMachineOfNewest(facts) ?? lateMachineOfEarlier(facts);
}

function lateMachineOfNewest(facts: OwnershipFacts): LateMachine | undefined {
  const intent = closedWithoutMachine(facts);
  if (!intent) return undefined;
  const row = lateMachine(facts, intent);
  return row && { row, attempt: intent.attempt };
}

/**
 * Returns the late machine of a purchase before the open one, which would otherwise hide it for good. The status
 * records which purchases are closed, because a person may have removed the intent.
 */
function lateMachineOfEarlier(facts: OwnershipFacts): LateMachine | undefined {
  const {
    purchase: { intent, settledAttempt },
    machine: { list },
    memory,
  } = facts;
  const open = Math.max(settledAttempt + 1, intent.type === 'intent' ? intent.intent.attempt : 0);
  const known = memory.late && !isLongMissing(facts, memory.late.row.id) ? [memory.late] : [];
  const late = [...listedLateBefore(list?.labelled ?? [], open), ...known];
  return late.find(({ attempt }) => attempt < open && !hadMachine(facts, attempt));
}

/** Returns the newest purchase, if it was closed without a machine. */
function closedWithoutMachine(facts: Pick<Facts, 'object' | 'purchase'>): RentalIntent | undefined {
  const {
    purchase: { intent, uid, openIntent },
  } = facts;
  if (intent.type !== 'intent' || intent.intent.uid !== uid || openIntent) return undefined;
  return hadMachine(facts, intent.intent.attempt) ? undefined : intent.intent;
}

/** Returns true if a machine of that purchase has ended: another one with its label is then a copy. */
function hadMachine({ object }: Pick<Facts, 'object'>, attempt: number): boolean {
  return object.status?.history?.some((past) => past.attempt === attempt) ?? false;
}

/**
 * Returns a listed late machine, or one listed before: a later list without it does not prove that it is gone.
 */
function lateMachine(
  observed: Pick<Observed, 'machine' | 'clock' | 'memory'>,
  intent: RentalIntent,
): Machine | undefined {
  const listed = listedLate(observed.machine.list?.labelled ?? [], intent);
  const { late } = observed.memory;
  if (listed || late?.attempt !== intent.attempt || late.issuedAt !== intent.issuedAt) return listed;
  return isLongMissing(observed, late.row.id) ? undefined : late.row;
}

/**
 * Returns a listed machine whose label verifies and names this purchase and its issue time, whatever its start: only
 * this rent call carried that label. It may be this rental, carried out late, so nothing else is rented while it
 * exists.
 */
export function listedLate(
  labelled: readonly ListedMachine[],
  { attempt, issuedAt }: Pick<RentalIntent, 'attempt' | 'issuedAt'>,
): Machine | undefined {
  const isOfPurchase = ({ ownership }: ListedMachine) =>
    ownership.type === 'labelCopied' &&
    ownership.facts.attempt === attempt &&
    ownership.facts.issuedAt === issuedAt;
  return labelled.find(isOfPurchase)?.row;
}

/**
 * Returns late machines of earlier purchases, by their labels. A machine that started a day after its label is no
 * rental of this object.
 */
export function listedLateBefore(
  labelled: readonly ListedMachine[],
  newest: number,
): readonly (LateMachine & Pick<RentalIntent, 'issuedAt'>)[] {
  return labelled.flatMap(({ row, ownership }) => {
    if (ownership.type !== 'labelCopied' || !ownership.isLate) return [];
    const { attempt, issuedAt } = ownership.facts;
    return attempt < newest ? [{ row, attempt, issuedAt }] : [];
  });
}

/** Returns true if lists as far apart as they may lag, and all between them, lack a machine that was listed before. */
function isLongMissing(
  { machine: { absences }, clock: { constants } }: Pick<Observed, 'machine' | 'clock'>,
  instanceId: string,
): boolean {
  return areApart(absences.get(instanceId)?.lists ?? [], constants.listLagMs);
}

/**
 * Returns true if this process must read more lists before the purchase after this one. An earlier purchase may have a late
 * machine, and the first lists of a process may hide it. A refusal that this process received is certain.
 */
export function needsMoreLists(facts: Pick<Facts, 'machine' | 'clock' | 'memory'>, attempt: number): boolean {
  return attempt > 0 && facts.memory.refused?.attempt !== attempt && !listsSpanLag(facts);
}

/**
 * Returns the machine if it is the only new, unlabelled and unowned one; any other number needs a person. After a
 * definite refusal there is none. `disowned`: the machine of the reply, if lists contradict it.
 */
function foundWithoutLabel(
  observed: Pick<Observed, 'machine' | 'memory'>,
  intent: RentalIntent,
  disowned: OwnedMachine | undefined,
): IntentOutcome | undefined {
  const labelled = foundByLabel(observed, intent);
  if (labelled || isRefused(observed, intent)) return labelled;
  const known = new Set(intent.knownIds);
  const isNew = ({ id }: { readonly id: string }) => !known.has(id) && id !== disowned?.instanceId;
  const { unowned = [], doubtful = [] } = observed.machine.list ?? {};
  const fresh = unowned.filter(isNew);
  const unsure = doubtful.filter(isNew);
  const candidates = [...fresh, ...unsure];
  const [only] = candidates;
  if (only === undefined) return undefined;
  if (candidates.length === 1 && unsure.length === 0) return { type: 'found', intent, instanceId: only.id };
  return { type: 'ambiguous', intent, candidates };
}

/**
 * Returns the attempt number in a row's label, if the operator created the label and it matches the machine.
 */
export function attemptOf(ownership: ListedMachine['ownership']): number | undefined {
  return ownership.type === 'labelled' || ownership.type === 'undated' ? ownership.facts.attempt : undefined;
}
