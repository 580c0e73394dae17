import { ACCOUNT_FINALIZER } from '../../api/v1alpha1/names.ts';
import type { Outage } from '../../api/v1alpha1/outage.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import type { EventNote } from '../../runtime/events.ts';
import { outageNow, ready, stalled, suspended, unreadiness } from './conditions.ts';
import { creditLow, isRecordedLow } from './credit-low.ts';
import { closeRequest, orphansOnDeletion } from './incidents.ts';
import { isUndecided, provesPinned, sameLogin } from './key-proof.ts';
import { eventFigures, outageEvents } from './outage.ts';
import { statusOf } from './status.ts';
import type { Action, Decision, Observed, ReportedEvent, Unreadiness } from './types.ts';

/** Decides writes, actions and the next reconcile of an account. */
export function decide(observed: Observed): Decision {
  const status = statusOf(observed);
  const { account } = observed;
  const deleting = account.metadata.deletionTimestamp !== undefined;
  const guarded = account.metadata.finalizers?.includes(ACCOUNT_FINALIZER) ?? false;
  const { actions, events } = deleting
    ? teardown(observed, guarded)
    : { actions: service(observed), events: eventsOf(observed, status) };
  return {
    status,
    needsFinalizer: !deleting && !guarded && provesPinned(observed.proof, account.status?.login),
    actions,
    events,
    requeueAfterMs: observed.keyCheckAgainInMs,
  };
}

/**
 * Returns the actions that every object of the account needs, up to the destroy of its last machine. Actions that
 * wait for no reply come first, when a person's request is recorded as handled.
 */
function service(observed: Observed): readonly Action[] {
  const { account, session, installation, proof } = observed;
  const isClosing = session && session.breaker.type !== 'closed' && closeRequest(account) !== undefined;
  return [
    ...(isClosing ? [{ type: 'closeBreaker' } as const] : []),
    ...connection(observed),
    ...(installation.type === 'known' ? [] : [{ type: 'resolveIdentity' } as const]),
    // Without a session the account is connecting, and no key of it was tried in vain.
    {
      type: 'setReadiness',
      why: !session && proof.type === 'unconfirmed' ? undefined : unreadinessWithOutage(observed),
    },
  ];
}

function unreadinessWithOutage(observed: Observed): Unreadiness | undefined {
  const why = unreadiness(observed);
  return why && { ...why, outage: outageNow(observed) };
}

/**
 * Returns the decision for a deleted account: its session continues until the last machine is gone, including orphans.
 */
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
 * Returns the actions on the session, which follows its key. A key without permission to destroy does not replace a
 * stored one, which can still destroy its rentals. An undecided proof does not change the key: the previous one still
 * counts, but the account sends no requests while a reply names another user.
 */
function connection(observed: Observed): readonly Action[] {
  const { proof, account, keyKept } = observed;
  if (provesPinned(proof, account.status?.login)) {
    const connect: Action = { type: 'connect', proof };
    const keep: Action = { type: 'keepKey', key: proof.key };
    return proof.source === 'user' && proof.mayDestroy && !keyKept ? [keep, connect] : [connect];
  }
  return isUndecided(proof) && !namesOther(observed) ? [] : [{ type: 'disconnect' }];
}

/** Returns true if a reply names another user than the pinned one: a list then proves no absence. */
function namesOther({ proof, account: { status } }: Observed): boolean {
  return proof.type === 'unconfirmed' && status?.login !== undefined && !sameLogin(status.login, proof.login);
}

/**
 * Returns the events of an account that is not being deleted: it needs a person, its breaker opens, a person suspends
 * or resumes it, or its credit becomes low or sufficient.
 */
function eventsOf(observed: Observed, status: Decision['status']): readonly ReportedEvent[] {
  const { outage } = status;
  const trouble = troubleEvent(observed, outage);
  return [
    ...outageEvents(observed, outage, trouble),
    ...trouble,
    ...breakerEvent(observed),
    ...suspendEvent(observed),
    ...creditEvent(observed, status),
  ];
}

/** Returns the event of a condition that the written status gains or loses. */
function creditEvent(observed: Observed, status: Decision['status']): readonly EventNote[] {
  const { account, creditReadings } = observed;
  if (isRecordedLow({ status }) === isRecordedLow(account)) return [];
  const low = creditLow(observed);
  if (low) return [warning(low.reason, low.message)];
  const common = { type: 'Normal', action: 'CheckAccount' } as const;
  if (creditReadings.at(-1)?.credit === undefined) {
    const note = 'The key may not read the credit any more, so CreditLow is not reported.';
    return [{ ...common, reason: 'CreditUnknown', note }];
  }
  const note = 'The credit lasts longer than a day again at the present hourly cost.';
  return [{ ...common, reason: 'CreditSufficient', note }];
}

function suspendEvent(observed: Observed): readonly EventNote[] {
  const now = suspended(observed);
  const before = observed.account.status?.conditions?.some(({ type }) => type === 'Suspended') === true;
  if (before === (now !== undefined)) return [];
  const common = { type: 'Normal', action: 'Suspend' } as const;
  if (now) return [{ ...common, reason: 'Suspended', note: now.message }];
  return [{ ...common, reason: 'Resumed', note: 'spec.suspend is false: rentals and starts go on.' }];
}

function troubleEvent(observed: Observed, outage: Outage | undefined): readonly ReportedEvent[] {
  const stall = stalled(observed);
  const summary = ready(observed);
  const why = stall ?? (facetsOf(summary.reason).needsFix ? summary : undefined);
  const carrier = stall ? 'Stalled' : 'Ready';
  const before = observed.account.status?.conditions?.find(({ type }) => type === carrier);
  if (!why || before?.reason === why.reason) return [];
  const figures = outage?.reason === why.reason && { figures: eventFigures(outage, observed.now) };
  return [{ ...warning(why.reason, why.message), ...figures }];
}

function breakerEvent({ account, session: facts }: Observed): readonly EventNote[] {
  const state = facts?.breaker;
  const { open = false, releasedAt } = account.status?.breaker ?? {};
  if (state?.type === 'slow' && state.releasedBy === 'hold' && releasedAt === undefined)
    return [warning('BreakerOpen', state.message)];
  if (state?.type !== 'open' || state.cause === 'listFailed' || open) return [];
  return [warning('BreakerOpen', state.message)];
}
