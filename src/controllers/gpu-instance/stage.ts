import type { Reason } from '../../api/v1alpha1/reasons.ts';
import { isUnseen, statusClass } from '../../instance/status-class.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import { isForLogin } from '../../ownership/intent.ts';
import { attemptOf, type Facts, type IntentOutcome, type OwnedMachine } from './facts.ts';
import type { Outsider, RentedFacts } from './types.ts';

/** What a recorded machine is doing, as far as rules care. */
export type MachineState =
  | { readonly type: 'absent' }
  | { readonly type: 'booting'; readonly row: Instance }
  | { readonly type: 'running'; readonly row: Instance }
  | { readonly type: 'stopped'; readonly row: Instance }
  | {
      readonly type: 'failing';
      readonly row: Instance;
      readonly reason: 'Exited' | 'HostSilent' | 'HostOffline';
    }
  | { readonly type: 'unrecognized'; readonly row: Instance };

/**
 * Where an object stands. Derived on every pass from what is seen; nothing of it is stored to be acted on.
 */
export type Stage =
  | { readonly type: 'deleting' }
  /** Nothing may be done before a person has looked. */
  | { readonly type: 'blocked'; readonly reason: Reason; readonly detail: string }
  /** The account is not for its namespace, and nothing was ever rented for it. */
  | { readonly type: 'outside'; readonly outsider: Outsider }
  /** The account's login is not known, so nothing can be proven about any machine. */
  | { readonly type: 'withoutAccount' }
  | { readonly type: 'observing' }
  | { readonly type: 'adopting' }
  /** A rental was answered, and its result is to be saved. */
  | { readonly type: 'rented'; readonly rented: RentedFacts }
  /** A machine of this object was found by its label (or as the only new one), and is to be recorded. */
  | { readonly type: 'found'; readonly instanceId: string; readonly attempt: number }
  | {
      readonly type: 'pending';
      readonly settlement: Extract<IntentOutcome, { type: 'unknown' | 'late' | 'ambiguous' }>;
    }
  | { readonly type: 'machine'; readonly machine: OwnedMachine; readonly state: MachineState }
  /** `attempt`: the number of the last purchase, which came to nothing or is over. */
  | { readonly type: 'unrented'; readonly attempt: number };

/** Where the object stands. The order matters: what is certain comes before what is only absent. */
export function classify(facts: Facts): Stage {
  if (facts.isDeleting) return { type: 'deleting' };
  const turnedAway = blockedByRecord(facts) ?? outside(facts);
  if (turnedAway) return turnedAway;
  if (!facts.accountFacts) return { type: 'withoutAccount' };
  for (const guess of GUESSES) {
    const stage = guess(facts);
    if (stage) return stage;
  }
  return { type: 'unrented', attempt: facts.openIntent?.attempt ?? facts.settledAttempt };
}

/**
 * Permission comes before everything that depends on the account. Who has a machine, or may have one, is not turned away:
 * it is looked after to its end.
 */
function outside({ account, object, intent, memory, list }: Facts): Stage | undefined {
  const hasMachine = object.status?.instanceId !== undefined || (list?.labelled.length ?? 0) > 0;
  const mayHold = intent.type !== 'none' || memory.rented !== undefined || memory.intent !== undefined;
  if (account.outsider === undefined || hasMachine || mayHold) return undefined;
  return { type: 'outside', outsider: account.outsider };
}

/** The record itself forbids going on. */
export function blockedByRecord(facts: Facts): Extract<Stage, { type: 'blocked' }> | undefined {
  const { intent, uid, list } = facts;
  const blocked = (reason: Reason, detail: string) => ({ type: 'blocked', reason, detail }) as const;
  if (intent.type === 'tampered')
    return blocked(
      'IntentTampered',
      'The annotation gpurental.dev/rental-intent was changed by someone else, so nothing is rented or destroyed by it.',
    );
  if (intent.type === 'unknownVersion') {
    return blocked(
      'IntentUnknown',
      `The annotation gpurental.dev/rental-intent is of version ${intent.version}.`,
    );
  }
  if (intent.type === 'none') return undefined;
  if (intent.intent.uid !== uid) {
    const former = list?.formerSelf;
    if (former)
      return blocked(
        'RestoredElsewhere',
        `Machine ${former.id} of its former self (uid ${intent.intent.uid}) is still listed.`,
      );
    return undefined;
  }
  const account = facts.accountFacts;
  if (account && !isForLogin(intent.intent, account.login)) {
    return blocked('LoginChanged', `Its machine was rented by the login ${intent.intent.login}.`);
  }
  return undefined;
}

type Guess = (facts: Facts) => Stage | undefined;

/** In this order: what is certain comes before what is only absent. */
const GUESSES: readonly Guess[] = [
  ({ object }) => (object.spec.adopt?.policy === 'Observe' ? { type: 'observing' } : undefined),
  answeredRental,
  (facts) => newestLabelled(facts, facts.settledAttempt + 1),
  openRental,
  recordedMachine,
  (facts) => newestLabelled(facts, facts.settledAttempt),
  (facts) => (facts.object.spec.adopt && facts.settledAttempt === 0 ? { type: 'adopting' } : undefined),
];

function answeredRental(facts: Facts): Stage | undefined {
  const { rented } = facts.memory;
  return rented && rented.attempt > facts.settledAttempt ? { type: 'rented', rented } : undefined;
}

function openRental(facts: Facts): Stage | undefined {
  const outcome = facts.intentOutcome;
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

function recordedMachine(facts: Facts): Stage | undefined {
  const { ownedMachine: machine, list, object } = facts;
  if (!machine) return undefined;
  const row = list?.recorded;
  if (!row) return { type: 'machine', machine, state: { type: 'absent' } };
  // One that has run and of which the service says no word any more does not boot: nothing can be told of it.
  const isSilent = row.actualStatus === null && object.status?.runningAt !== undefined;
  return { type: 'machine', machine, state: isSilent ? { type: 'unrecognized', row } : stateOf(row) };
}

/** The machine of the newest purchase from `least` on that this object did not already let go of; of equals the lowest id. */
export function newestLabelled(facts: Facts, least: number): Extract<Stage, { type: 'found' }> | undefined {
  const ended = facts.endedIds;
  let best: Extract<Stage, { type: 'found' }> | undefined;
  for (const { row, ownership } of facts.list?.labelled ?? []) {
    const attempt = attemptOf(ownership);
    if (attempt === undefined || attempt < least || ended.has(row.id)) continue;
    if (!best || attempt > best.attempt) best = { type: 'found', instanceId: row.id, attempt };
  }
  return best;
}

type RowState = Exclude<MachineState, { type: 'absent' }>;

/** What a listed machine is doing. */
export function stateOf(row: Instance): RowState {
  const type = statusClass(row.actualStatus);
  switch (type) {
    case 'provisioning':
    case 'booting':
      return { type: 'booting', row };
    case 'running':
    case 'stopped':
      return { type, row };
    case 'failing':
      if (!isUnseen(row.actualStatus)) return { type, row, reason: 'Exited' };
      return { type, row, reason: row.actualStatus === 'offline' ? 'HostOffline' : 'HostSilent' };
    case 'unrecognized':
      return { type: 'unrecognized', row };
  }
}
