import { ACCOUNT_FINALIZER } from '../../api/v1alpha1/names.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { EventNote } from '../../runtime/events.ts';
import { ready, stalled, unreadiness } from './conditions.ts';
import { closeRequest, orphansOnDeletion } from './incidents.ts';
import { isInconclusive, provesPinned } from './key-proof.ts';
import { statusOf } from './status.ts';
import type { Action, Decision, Observed } from './types.ts';

/** What to write and do about an account, and when to look again. */
export function decide(observed: Observed): Decision {
  const status = statusOf(observed);
  const { account } = observed;
  const deleting = account.metadata.deletionTimestamp !== undefined;
  const guarded = account.metadata.finalizers?.includes(ACCOUNT_FINALIZER) ?? false;
  // While it is not deleted, one event says when it needs a person, or its breaker opens.
  const { actions, events } = deleting
    ? teardown(observed, guarded)
    : { actions: service(observed), events: [...troubleEvent(observed), ...breakerEvent(observed)] };
  return {
    status,
    needsFinalizer: !deleting && !guarded && provesPinned(observed.proof, account.status?.login),
    actions,
    events,
    requeueAfterMs: observed.keyCheckAgainInMs,
  };
}

/**
 * What every object of the account needs, up to the destroy of its last machine. What waits for no reply comes first: a
 * person's request is recorded as handled by then.
 */
function service(observed: Observed): readonly Action[] {
  const { account, session, installation } = observed;
  const isClosing = session && session.breaker.type !== 'closed' && closeRequest(account) !== undefined;
  return [
    ...(isClosing ? [{ type: 'closeBreaker' } as const] : []),
    ...connection(observed),
    ...(installation.type === 'known' ? [] : [{ type: 'resolveIdentity' } as const]),
    { type: 'setReadiness', why: unreadiness(observed) },
  ];
}

/** While it is being deleted: its session serves until the last machine is gone, those among them that no object claims. */
function teardown(observed: Observed, guarded: boolean): Pick<Decision, 'actions' | 'events'> {
  const isNeeded = observed.blockers.length > 0;
  if (!guarded) return { actions: isNeeded ? service(observed) : [{ type: 'disconnect' }], events: [] };
  const orphans = orphansOnDeletion(observed);
  if (isNeeded || orphans.type === 'awaited') return { actions: service(observed), events: [] };
  return {
    actions: [{ type: 'disconnect' }, { type: 'dropKeptKey' }, { type: 'removeFinalizer' }],
    events: orphans.type === 'left' ? [warning('OrphanFound', orphans.message)] : [],
  };
}

function warning(reason: string, note: string): EventNote {
  return { type: 'Warning', reason, action: 'CheckAccount', note };
}

/**
 * A session follows its key. A key that may not destroy replaces no kept one, which can still destroy what was rented
 * with it. A proof that only failed to arrive proves nothing about the key: the previous one still counts.
 */
function connection({ proof, account, keyKept }: Observed): readonly Action[] {
  if (provesPinned(proof, account.status?.login)) {
    const connect: Action = { type: 'connect', proof };
    const keep: Action = { type: 'keepKey', key: proof.key };
    return proof.source === 'user' && proof.mayDestroy && !keyKept ? [keep, connect] : [connect];
  }
  return proof.type === 'failed' && isInconclusive(proof.failure) ? [] : [{ type: 'disconnect' }];
}

/** What a person has to fix, although the operator goes on by itself afterwards. */
const NEEDS_A_FIX: ReadonlySet<Reason> = new Set<Reason>([
  'SecretMissing',
  'SecretKeyMissing',
  'SecretInvalid',
  'UsingKeptKey',
  'NotPermitted',
  'MalformedReply',
  'LowCredit',
  'SpendLimitReached',
]);

function troubleEvent(observed: Observed): readonly EventNote[] {
  const stall = stalled(observed);
  const summary = ready(observed);
  const why = stall ?? (NEEDS_A_FIX.has(summary.reason) ? summary : undefined);
  const carrier = stall ? 'Stalled' : 'Ready';
  const before = observed.account.status?.conditions?.find(({ type }) => type === carrier);
  if (!why || before?.reason === why.reason) return [];
  return [warning(why.reason, why.message)];
}

function breakerEvent({ account, session: facts }: Observed): readonly EventNote[] {
  const state = facts?.breaker;
  const { open = false, releasedAt } = account.status?.breaker ?? {};
  if (state?.type === 'slow' && state.releasedBy === 'hold' && releasedAt === undefined)
    return [warning('BreakerReleased', state.message)];
  if (state?.type !== 'open' || state.cause !== 'massFailure' || open) return [];
  return [warning('BreakerOpened', state.message)];
}
