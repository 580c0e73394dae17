import type { Reason } from '../../api/v1alpha1/reasons.ts';
import { isUnseen, statusClass } from '../../instance/status-class.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import { isForLogin } from '../../ownership/intent.ts';
import { endedIds, factsOf, isDeleting, type Recorded, recordedMachine, settledAttempt } from './recorded.ts';
import { attemptOf, openIntent, type Settlement, settlement } from './settle.ts';
import type { Observed } from './types.ts';
import type { Outsider, RentedFacts } from './views.ts';

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
  | { readonly type: 'held'; readonly reason: Reason; readonly detail: string }
  /** The account is not for its namespace, and nothing was ever rented for it. */
  | { readonly type: 'outside'; readonly outsider: Outsider }
  /** The account's login is not known, so nothing can be proven about any machine. */
  | { readonly type: 'withoutAccount' }
  | { readonly type: 'observing' }
  | { readonly type: 'adopting' }
  /** A rental was answered, and its result is to be saved. */
  | { readonly type: 'rented'; readonly rented: RentedFacts }
  /** A machine of this object was found by its label (or as the only new one), and is to be recorded. */
  | { readonly type: 'found'; readonly instanceId: number; readonly attempt: number }
  | {
      readonly type: 'pending';
      readonly settlement: Extract<Settlement, { type: 'unknown' | 'late' | 'ambiguous' }>;
    }
  | { readonly type: 'machine'; readonly machine: Recorded; readonly state: MachineState }
  /** `attempt`: the number of the last purchase, which came to nothing or is over. */
  | { readonly type: 'unrented'; readonly attempt: number };

/** Where the object stands. The order matters: what is certain comes before what is only absent. */
export function classify(observed: Observed): Stage {
  if (isDeleting(observed)) return { type: 'deleting' };
  return (
    heldByRecord(observed) ??
    outside(observed) ??
    (factsOf(observed) ? byOwnership(observed) : { type: 'withoutAccount' })
  );
}

/**
 * Permission comes before everything that depends on the account. Who has a machine, or may have one, is not turned away:
 * it is looked after to its end.
 */
function outside({ account, object, intent, memory, list }: Observed): Stage | undefined {
  const isHeld = object.status?.instanceId !== undefined || (list?.labelled.length ?? 0) > 0;
  const mayHold = intent.type !== 'none' || memory.rented !== undefined || memory.intent !== undefined;
  if (account.outsider === undefined || isHeld || mayHold) return undefined;
  return { type: 'outside', outsider: account.outsider };
}

/** The record itself forbids going on. */
export function heldByRecord(observed: Observed): Extract<Stage, { type: 'held' }> | undefined {
  const { intent, uid, list } = observed;
  const held = (reason: Reason, detail: string) => ({ type: 'held', reason, detail }) as const;
  if (intent.type === 'tampered')
    return held(
      'IntentTampered',
      'The annotation gpurental.dev/rental-intent was changed by someone else, so nothing is rented or destroyed by it.',
    );
  if (intent.type === 'unknownVersion') {
    return held(
      'IntentUnknown',
      `The annotation gpurental.dev/rental-intent is of version ${intent.version}.`,
    );
  }
  if (intent.type === 'none') return undefined;
  if (intent.intent.uid !== uid) {
    const former = list?.formerSelf;
    if (former)
      return held(
        'RestoredElsewhere',
        `Machine ${former.id} of its former self (uid ${intent.intent.uid}) is still listed.`,
      );
    return undefined;
  }
  const facts = factsOf(observed);
  if (facts && !isForLogin(intent.intent, facts.login)) {
    return held('LoginChanged', `Its machine was rented by the login ${intent.intent.login}.`);
  }
  return undefined;
}

type Guess = (observed: Observed) => Stage | undefined;

/** In this order: what is certain comes before what is only absent. */
const GUESSES: readonly Guess[] = [
  ({ object }) => (object.spec.adopt?.policy === 'Observe' ? { type: 'observing' } : undefined),
  answeredRental,
  (observed) => newestLabelled(observed, settledAttempt(observed) + 1),
  openRental,
  heldMachine,
  (observed) => newestLabelled(observed, settledAttempt(observed)),
  (observed) =>
    observed.object.spec.adopt && settledAttempt(observed) === 0 ? { type: 'adopting' } : undefined,
];

function byOwnership(observed: Observed): Stage {
  for (const guess of GUESSES) {
    const stage = guess(observed);
    if (stage) return stage;
  }
  return { type: 'unrented', attempt: openIntent(observed)?.attempt ?? settledAttempt(observed) };
}

function answeredRental(observed: Observed): Stage | undefined {
  const { rented } = observed.memory;
  return rented && rented.attempt > settledAttempt(observed) ? { type: 'rented', rented } : undefined;
}

function openRental(observed: Observed): Stage | undefined {
  const outcome = settlement(observed);
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

function heldMachine(observed: Observed): Stage | undefined {
  const machine = recordedMachine(observed);
  return machine && { type: 'machine', machine, state: machineState(observed) };
}

/** The machine of the newest purchase from `least` on that this object did not already let go of; of equals the lowest id. */
export function newestLabelled(
  observed: Observed,
  least: number,
): Extract<Stage, { type: 'found' }> | undefined {
  const ended = endedIds(observed);
  let best: Extract<Stage, { type: 'found' }> | undefined;
  for (const { row, ownership } of observed.list?.labelled ?? []) {
    const attempt = attemptOf(ownership);
    if (attempt === undefined || attempt < least || ended.has(row.id)) continue;
    if (!best || attempt > best.attempt) best = { type: 'found', instanceId: row.id, attempt };
  }
  return best;
}

/** A machine that has run and of which the service says no word any more does not boot: nothing can be told of it. */
function machineState({ list, object }: Observed): MachineState {
  const row = list?.recorded;
  if (!row) return { type: 'absent' };
  const hasRun = object.status?.runningAt !== undefined;
  return row.actualStatus === null && hasRun ? { type: 'unrecognized', row } : stateOf(row);
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
      return { type, row, reason: failureOf(row) };
    case 'unrecognized':
      return { type: 'unrecognized', row };
  }
}

function failureOf({ actualStatus }: Instance): 'Exited' | 'HostSilent' | 'HostOffline' {
  if (!isUnseen(actualStatus)) return 'Exited';
  return actualStatus === 'offline' ? 'HostOffline' : 'HostSilent';
}
