import type { Machine } from '../../accounts/beliefs/machine.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { isSilent } from '../../instance/machine-state.ts';
import { storedForm } from '../../lib/stored-form.ts';
import { isForLogin } from '../../ownership/intent.ts';
import { attemptOf, type Facts, type IntentOutcome, isDeleting } from './facts.ts';
import type { Outsider, OwnedMachine, RentedFacts } from './types.ts';

/** Activity of a recorded machine, as far as rules need it. */
export type MachineState =
  | { readonly type: 'absent' }
  | { readonly type: 'booting'; readonly row: Machine }
  | { readonly type: 'running'; readonly row: Machine }
  | { readonly type: 'stopped'; readonly row: Machine }
  | {
      readonly type: 'failing';
      readonly row: Machine;
      readonly reason: 'Exited' | 'HostOffline';
    }
  | { readonly type: 'unrecognized'; readonly row: Machine };

/** Reason why a person must decide. */
type Block = 'RecordUnreadable' | 'CopiedObject' | 'LoginChanged';

/** Stage of an object. Each pass derives it from the observation; no action relies on a stored stage. */
export type Stage =
  | { readonly type: 'deleting' }
  /** No action is permitted before a person has decided. */
  | {
      readonly type: 'blocked';
      readonly reason: Block;
      readonly detail: string;
      /** A deletion also waits, because only another operator or login can end the machine. */
      readonly forbidsDeletion?: true;
    }
  /** The account excludes the object's namespace, and nothing was ever rented for it. */
  | { readonly type: 'outside'; readonly outsider: Outsider }
  /** The account's login is not known, so nothing can be proven about any machine. */
  | { readonly type: 'withoutAccount' }
  | { readonly type: 'observing' }
  | { readonly type: 'adopting' }
  /** A rental was answered, and its result must be saved. */
  | { readonly type: 'rented'; readonly rented: RentedFacts }
  /** A machine of this object was found by its label (or as the only new one), and must be recorded. */
  | { readonly type: 'found'; readonly instanceId: string; readonly attempt: number }
  | {
      readonly type: 'pending';
      readonly settlement: Extract<IntentOutcome, { type: 'unknown' | 'late' | 'ambiguous' }>;
    }
  | { readonly type: 'machine'; readonly machine: OwnedMachine; readonly state: MachineState }
  /** `attempt`: number of the last purchase, which created no machine or is over. */
  | { readonly type: 'unrented'; readonly attempt: number };

/** Returns the stage of the object. The order matters: certain facts precede mere absences. */
export function classify(facts: Facts): Stage {
  if (isDeleting(facts.object)) return { type: 'deleting' };
  const turnedAway = blockedByRecord(facts) ?? outside(facts);
  if (turnedAway) return turnedAway;
  if (!facts.account.facts) return { type: 'withoutAccount' };
  for (const guess of GUESSES) {
    const stage = guess(facts);
    if (stage) return stage;
  }
  return { type: 'unrented', attempt: facts.purchase.openIntent?.attempt ?? facts.purchase.settledAttempt };
}

/**
 * Returns the refusal of a namespace, which precedes all rules that depend on the account. An object that has, or may
 * have, a machine is not refused: it is managed until its end.
 */
function outside({
  account,
  object,
  purchase: { intent },
  memory,
  machine: { list },
}: Facts): Stage | undefined {
  const hasMachine = object.status?.instanceId !== undefined || (list?.labelled.length ?? 0) > 0;
  const mayHold = intent.type !== 'none' || memory.rented !== undefined || memory.intent !== undefined;
  if (account.outsider === undefined || hasMachine || mayHold) return undefined;
  return { type: 'outside', outsider: account.outsider };
}

/** Returns the block by the record itself. */
export function blockedByRecord(
  facts: Pick<Facts, 'object' | 'machine' | 'account' | 'purchase'>,
): Extract<Stage, { type: 'blocked' }> | undefined {
  const {
    purchase: { intent, uid },
    machine: { list },
    object,
  } = facts;
  const blocked = (reason: Block, detail: string) => ({ type: 'blocked', reason, detail }) as const;
  const problem = storedForm(object.status)?.problem;
  if (problem?.type === 'newer')
    return {
      ...blocked('RecordUnreadable', `status.record is of version ${problem.version}.`),
      forbidsDeletion: true,
    };
  if (intent.type === 'tampered')
    return blocked(
      'RecordUnreadable',
      'The annotation gpurental.dev/rental-intent was changed by someone else, so nothing is rented or destroyed by it.',
    );
  if (intent.type === 'unknownVersion') {
    const detail = `The annotation gpurental.dev/rental-intent is of version ${intent.version}.`;
    return { ...blocked('RecordUnreadable', detail), forbidsDeletion: true };
  }
  if (intent.type === 'none') return undefined;
  if (intent.intent.uid !== uid) {
    const former = list?.formerSelf;
    if (former && list.copiedFrom !== undefined)
      return blocked(
        'CopiedObject',
        `The annotation ${annotations.rentalIntent} was copied from GpuInstance ${list.copiedFrom}, whose machine ${former.id} runs.`,
      );
    if (former)
      return blocked(
        'CopiedObject',
        `Machine ${former.id} of its former self (uid ${intent.intent.uid}) is still listed.`,
      );
    return undefined;
  }
  const account = facts.account.facts;
  if (account && !isForLogin(intent.intent, account.login)) {
    return {
      ...blocked('LoginChanged', `Its machine was rented by the login ${intent.intent.login}.`),
      forbidsDeletion: true,
    };
  }
  return undefined;
}

type Guess = (facts: Facts) => Stage | undefined;

/** In this order: certain facts precede mere absences. */
const GUESSES: readonly Guess[] = [
  ({ object }) => (object.spec.adopt?.policy === 'Observe' ? { type: 'observing' } : undefined),
  answeredRental,
  (facts) => newestLabelled(facts, facts.purchase.settledAttempt + 1),
  openRental,
  recordedMachine,
  (facts) => newestLabelled(facts, facts.purchase.settledAttempt),
  (facts) =>
    facts.object.spec.adopt && facts.purchase.settledAttempt === 0 ? { type: 'adopting' } : undefined,
];

function answeredRental(facts: Pick<Facts, 'purchase' | 'memory'>): Stage | undefined {
  const { rented } = facts.memory;
  return rented && rented.attempt > facts.purchase.settledAttempt ? { type: 'rented', rented } : undefined;
}

function openRental(facts: Pick<Facts, 'purchase'>): Stage | undefined {
  const outcome = facts.purchase.intentOutcome;
  switch (outcome.type) {
    case 'found':
      return { type: 'found', instanceId: outcome.instanceId, attempt: outcome.intent.attempt };
    case 'unknown':
    case 'late':
    case 'ambiguous':
      return { type: 'pending', settlement: outcome };
    case 'none':
    case 'nothingCame':
      return undefined;
  }
}

function recordedMachine(facts: Pick<Facts, 'object' | 'machine'>): Stage | undefined {
  const {
    machine: { owned: machine, list },
    object,
  } = facts;
  if (!machine) return undefined;
  const row = list?.recorded;
  if (!row) return { type: 'machine', machine, state: { type: 'absent' } };
  // A machine that has run and has no state in lists is not booting: its state is unknown.
  const isMute = isSilent(row, object.status?.runningAt !== undefined);
  return { type: 'machine', machine, state: isMute ? { type: 'unrecognized', row } : stateOf(row) };
}

/**
 * Returns the machine of the newest purchase from `least` on that this object did not release already; of equals the
 * lowest id.
 */
export function newestLabelled(
  facts: Pick<Facts, 'machine'>,
  least: number,
): Extract<Stage, { type: 'found' }> | undefined {
  const ended = facts.machine.endedIds;
  let best: Extract<Stage, { type: 'found' }> | undefined;
  for (const { row, ownership } of facts.machine.list?.labelled ?? []) {
    const attempt = attemptOf(ownership);
    if (attempt === undefined || attempt < least || ended.has(row.id)) continue;
    if (!best || attempt > best.attempt) best = { type: 'found', instanceId: row.id, attempt };
  }
  return best;
}

type RowState = Exclude<MachineState, { type: 'absent' }>;

/** Returns the activity of a listed machine. */
export function stateOf(row: Machine): RowState {
  const { state } = row;
  switch (state) {
    case 'pending':
    case 'loading':
      return { type: 'booting', row };
    case 'running':
    case 'stopped':
      return { type: state, row };
    case 'exited':
    case 'broken':
      return { type: 'failing', row, reason: 'Exited' };
    case 'offline':
    case 'unseen':
      return { type: 'failing', row, reason: 'HostOffline' };
    case 'ended':
    case 'unrecognized':
      return { type: 'unrecognized', row };
  }
}
