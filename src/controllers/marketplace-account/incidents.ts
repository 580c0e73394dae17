import type { BreakerState } from '../../accounts/breaker.ts';
import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { counted } from '../../lib/plural.ts';
import { formatTime } from '../../lib/time.ts';
import { compareIds } from '../../market/ids.ts';
import { isUndecided, provesPinned } from './key-proof.ts';
import type { Observed } from './types.ts';

/*
 * Parts of an account's status that stay until they are over or a person acts: the open breaker, a rollback of the
 * cluster's memory, machines that lost their objects at the same time, and the remains of a deleted account.
 */

const NONE: ReadonlySet<string> = new Set();

/** Returns the ids that the status may drop. Lists of another login, or during an open breaker, prove nothing. */
export function provenGone({ session, proof, account }: Observed): ReadonlySet<string> {
  const believed = session?.breaker.type === 'closed' && provesPinned(proof, account.status?.login);
  return believed ? session.provenGone : NONE;
}

/** Returns the value of the annotation that requests to close the breaker; undefined if it was handled before. */
export function closeRequest({ metadata, status }: MarketplaceAccount): string | undefined {
  const request = requestToken(metadata, annotations.closeBreaker);
  return request === status?.breaker?.closedBy ? undefined : request;
}

type BreakerRecord = NonNullable<MarketplaceAccountStatus['breaker']>;

/**
 * Returns the record of the breaker. Only a mass failure is recorded: a breaker that a failed list opened closes by
 * itself. A request to close is handled when it is seen, even if the breaker is closed, so it never closes after a
 * later failure.
 */
export function breakerRecord(observed: Observed): Pick<MarketplaceAccountStatus, 'breaker'> {
  const before = observed.account.status?.breaker;
  const request = closeRequest(observed.account);
  const failure = incident(observed);
  if (failure) {
    const last = request ?? before?.closedBy;
    return {
      breaker: { ...during(observed, failure, request), ...(last !== undefined && { closedBy: last }) },
    };
  }
  const closed = closedRecord(observed);
  if (request !== undefined) return { breaker: { ...closed, closedBy: request } };
  return before ? { breaker: closed } : {};
}

/** Returns the record during a mass failure: open, unless a person requested to close it. */
function during(observed: Observed, failure: Incident, request: string | undefined): BreakerRecord {
  const before = observed.account.status?.breaker;
  const isSlow = failure.type === 'slow';
  const open = request === undefined && !(isSlow && failure.releasedBy === 'person');
  const releasedAt = isSlow ? failure.releasedAt : request === undefined ? undefined : observed.now;
  return {
    open,
    since: before?.open === open ? before.since : formatTime(open ? failure.since : observed.now),
    unhealthy: failure.unhealthy,
    ...(releasedAt !== undefined && { releasedAt: before?.releasedAt ?? formatTime(releasedAt) }),
  };
}

/** Returns the record of a breaker that closes now, unless it was closed before. */
function closedRecord({ account, now }: Observed): BreakerRecord {
  const { releasedAt: _released, ...before } = account.status?.breaker ?? { open: false };
  const wasClosed = !before.open && 'since' in before;
  return wasClosed ? before : { unhealthy: 0, ...before, open: false, since: formatTime(now) };
}

type Incident = Extract<BreakerState, { type: 'slow' }> | Extract<BreakerState, { type: 'open' }>;

/** Returns the incident if more machines are unhealthy than allowed. */
function incident({ session }: Observed): Incident | undefined {
  const state = session?.breaker;
  if (state?.type === 'slow') return state;
  return state?.type === 'open' && state.cause !== 'listFailed' ? state : undefined;
}

export type RollbackRecord = Pick<
  MarketplaceAccountStatus,
  'rolledBack' | 'rollbackConfirmed' | 'rollbackConfirmedAt'
>;

/** Maximum recorded ids: one is enough to stop every sweep; more are for the reader. */
const MAX_IDS = 256;

/**
 * Machines that prove a rollback of the cluster's memory remain recorded until they are gone, or until a person
 * confirms with a new value of the annotation: a restored object may have an old one. The confirmation is dated by
 * the clock that dates machines, and waits until that is known.
 */
export function rollbackRecord(observed: Observed): RollbackRecord {
  const { account, serviceNow } = observed;
  const { rolledBack = [], rollbackConfirmed } = account.status ?? {};
  const request = requestToken(account.metadata, annotations.confirmRollback);
  const confirms = rolledBack.length > 0 && request !== undefined && request !== rollbackConfirmed;
  if (!confirms)
    return {
      ...rolledBackIds(observed, latched(observed)),
      ...(request !== undefined && { rollbackConfirmed: request }),
    };
  if (serviceNow === undefined) return rolledBackIds(observed, latched(observed));
  return {
    ...rolledBackIds(observed, []),
    rollbackConfirmed: request,
    rollbackConfirmedAt: formatTime(serviceNow),
  };
}

/** Returns the ids for the status; an empty list replaces a recorded one. */
function rolledBackIds({ account }: Observed, ids: readonly string[]): Pick<RollbackRecord, 'rolledBack'> {
  return account.status?.rolledBack || ids.length > 0 ? { rolledBack: [...ids] } : {};
}

/** Returns the recorded ids that are not gone, and the ids of the latest sweep. */
function latched(observed: Observed): readonly string[] {
  const { rolledBack = [], rollbackConfirmedAt } = observed.account.status ?? {};
  const findings = observed.session?.findings;
  const gone = provenGone(observed);
  const before = rolledBack.filter((id) => !gone.has(id));
  // A sweep that began before the confirmation reports the same machines again: it does not count.
  const isNew = findings && findings.confirmedAt >= (Date.parse(rollbackConfirmedAt ?? '') || 0);
  return [...new Set([...before, ...(isNew ? findings.rolledBack : [])])].sort(compareIds).slice(0, MAX_IDS);
}

export type MassOrphanRecord = Pick<
  MarketplaceAccountStatus,
  'massOrphaned' | 'orphansConfirmed' | 'orphansConfirmedBy'
>;

/**
 * Machines that lost their objects together remain recorded until they are gone, or until a person confirms with a
 * new value of the annotation. Confirmed ids are recorded too, so that the next sweep does not report them again.
 */
export function massOrphanRecord(observed: Observed): MassOrphanRecord {
  const { account, session } = observed;
  const { massOrphaned = [], orphansConfirmed = [], orphansConfirmedBy } = account.status ?? {};
  const request = requestToken(account.metadata, annotations.confirmOrphans);
  const gone = provenGone(observed);
  const isThere = (id: string) => !gone.has(id);
  const found = (session?.findings.massOrphaned ?? []).filter((id) => !orphansConfirmed.includes(id));
  const latched = [...new Set([...massOrphaned, ...found])].filter(isThere).sort(compareIds);
  const confirms = massOrphaned.length > 0 && request !== undefined && request !== orphansConfirmedBy;
  const confirmed = [...orphansConfirmed, ...(confirms ? latched : [])].filter(isThere);
  return {
    ...listOf('massOrphaned', confirms ? [] : latched, account.status),
    ...listOf('orphansConfirmed', confirmed, account.status),
    ...(request !== undefined && { orphansConfirmedBy: request }),
  };
}

/** Returns a list for the status; an empty list replaces a recorded one. */
function listOf(
  name: 'massOrphaned' | 'orphansConfirmed',
  ids: readonly string[],
  status: MarketplaceAccountStatus | undefined,
): MassOrphanRecord {
  return status?.[name] || ids.length > 0 ? { [name]: ids.slice(0, MAX_IDS) } : {};
}

/** Policy for orphans of the login when their account is deleted. */
export type OrphansOnDeletion =
  | { readonly type: 'none' }
  /** The sweep destroys them first, and the account waits. */
  | { readonly type: 'awaited'; readonly message: string }
  /** No sweep destroys them: they keep billing. */
  | { readonly type: 'left'; readonly message: string };

/**
 * Orphans that no sweep would destroy once the account is gone. The account waits for them only if its policy is to
 * destroy them and a sweep may do so: a problem that needs a person delays no deletion.
 */
export function orphansOnDeletion(observed: Observed): OrphansOnDeletion {
  const { account, beside } = observed;
  const machines = account.metadata.deletionTimestamp === undefined ? undefined : orphanNames(observed);
  if (machines === undefined || beside === 'sweeps') return { type: 'none' };
  const found = `${machines} were rented by this operator, and no GpuInstance claims them:`;
  return isSwept(observed)
    ? {
        type: 'awaited',
        message: `${found} they are destroyed before the account is deleted. To delete it without them, set spec.orphanPolicy to Report.`,
      }
    : {
        type: 'left',
        message: `${found} they stay when this account is deleted, and keep billing. Destroy those that you do not need in the marketplace's console.`,
      };
}

const MAX_NAMED = 10;

/**
 * Returns the orphans as text; undefined if there are none. Before the first sweep of a process they come from the
 * status.
 */
function orphanNames({ session, account }: Observed): string | undefined {
  const ids = session?.pendingOrphans;
  if (!ids) {
    const count = account.status?.machines?.orphaned ?? 0;
    return count === 0 ? undefined : `${counted(count, 'machine')} of the login`;
  }
  if (ids.length === 0) return undefined;
  const named = ids.slice(0, MAX_NAMED).join(', ');
  const more = ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : '';
  return `Machines ${named}${more}`;
}

function isSwept(observed: Observed): boolean {
  const { account, installation, beside } = observed;
  if (account.spec.orphanPolicy !== 'Destroy' || beside === 'reports') return false;
  const mayBe =
    installation.type === 'pending' || (installation.type === 'known' && installation.sweep === 'allowed');
  const { rolledBack = [] } = rollbackRecord(observed);
  const { massOrphaned = [] } = massOrphanRecord(observed);
  return mayBe && rolledBack.length === 0 && massOrphaned.length === 0 && hasUsableKey(observed);
}

/** Returns true if the key may destroy, or its permission is unknown. */
function hasUsableKey({ proof, account }: Observed): boolean {
  if (provesPinned(proof, account.status?.login)) return proof.mayDestroy;
  return isUndecided(proof);
}
