import { type AccountSums, limitsOf, reportedText } from '../../accounts/spend-limits.ts';
import { type Outage, outageCause } from '../../api/v1alpha1/outage.ts';
import { facetsOf, isTerminal, type Reason } from '../../api/v1alpha1/reasons.ts';
import { formatDollars, type MicroDollars } from '../../lib/money.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { newerVersion } from '../../lib/stored-form.ts';
import { formatTime } from '../../lib/time.ts';
import type { MarketplaceErrorKind } from '../../market/errors.ts';
import { massOrphanRecord, orphansOnDeletion, rollbackRecord } from './incidents.ts';
import { type Failure, type KeyProof, sameLogin } from './key-proof.ts';
import { continued, figuresOf, listFailure, marketplaceOutage, reasonOf } from './outage.ts';
import type { Observed, Unreadiness } from './types.ts';

/** The state of a condition; its transition time is added on writing. */
export interface ConditionState {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

type Proven = Extract<KeyProof, { type: 'proven' }>;

const isTrue = (reason: Reason, message: string): ConditionState => ({ status: 'True', reason, message });
const isFalse = (reason: Reason, message: string): ConditionState => ({ status: 'False', reason, message });
const isUnknown = (reason: Reason, message: string): ConditionState => ({
  status: 'Unknown',
  reason,
  message,
});

/** Returns the condition of a key that proves the pinned login and has the permissions of a rental. */
export function authenticated(observed: Observed): ConditionState {
  const { url, proof, account } = observed;
  if (url.type === 'refused') return isFalse('AddressInvalid', urlMessage(url, account.spec.url));
  switch (proof.type) {
    case 'none':
      return noKey(observed) ?? isUnknown('Pending', 'The key has not been tried yet.');
    case 'unconfirmed':
      return isUnknown(
        'Pending',
        `The key is being checked: one reply names user ${proof.login.userId}, and a second one has to agree.`,
      );
    case 'failed':
      return (
        rejected(proof.failure) ??
        isUnknown(reasonOf(proof.failure), 'Cannot verify the API key: marketplace unreachable.')
      );
    case 'proven':
      return proof.source === 'kept' ? usingKeptKey(observed, proof) : ownKeyProven(observed, proof);
  }
}

function ownKeyProven({ account }: Observed, { login, mayDestroy }: Proven): ConditionState {
  const pinned = account.status?.login;
  if (pinned && !sameLogin(pinned, login)) {
    return isFalse(
      'LoginChanged',
      `The key proves user ${login.userId}, the account is pinned to user ${pinned.userId}; nothing is changed or destroyed with it. Put a key of user ${pinned.userId} back, and create another MarketplaceAccount for user ${login.userId}.`,
    );
  }
  if (!mayDestroy) return isFalse('KeyTooNarrow', TOO_NARROW);
  return isTrue('Ready', `The key proves user ${login.userId}.`);
}

const TOO_NARROW =
  'The key may not destroy machines, so none is rented with it. Use a key with the categories user_read, instance_read, instance_write and misc.';

/** Returns the message about the URL, which cannot change: without one in the spec it is that of the pinned login. */
function urlMessage(
  url: Extract<Observed['url'], { type: 'refused' }>,
  specified: string | undefined,
): string {
  const list = `is not in the operator's list (${url.allowed.join(', ')})`;
  return specified === undefined
    ? `The marketplace ${url.url} of the account's login ${list}; add it by --marketplace-url.`
    : `spec.url ${url.url} ${list}; add it by --marketplace-url, or create another account with one of them.`;
}

function usingKeptKey(observed: Observed, { insteadOf }: Proven): ConditionState {
  const refusal = insteadOf?.type === 'failed' ? rejected(insteadOf.failure) : undefined;
  const problem = insteadOf?.type === 'proven' ? TOO_NARROW : refusal?.message;
  const cause = noKey(observed)?.message ?? problem ?? 'The key in the Secret was rejected.';
  return isFalse(
    'UsingKeptKey',
    `${cause} The kept key is used to list and destroy only; restore the Secret.`,
  );
}

/** Returns the condition for a fault of the Secret; undefined if it contains a key. */
function noKey({ reading, account }: Observed): ConditionState | undefined {
  const namespace = account.metadata.namespace ?? '';
  switch (reading.type) {
    case 'key':
      return undefined;
    case 'secretMissing':
      return isFalse(
        'InputMissing',
        `Secret ${namespace}/${reading.secret} does not exist. Create it, or correct spec.apiKeySecretRef.`,
      );
    case 'keyMissing':
      return isFalse(
        'InputMissing',
        `Secret ${namespace}/${reading.secret} has no key ${reading.key}; it has ${reading.present.join(', ') || 'none'}. Set spec.apiKeySecretRef.key to one of them.`,
      );
    case 'invalid':
      return isFalse(
        'InputMissing',
        `Key ${reading.key} of Secret ${namespace}/${reading.secret} is no API key: ${reading.problem}. Put the key there, and nothing else.`,
      );
    case 'forbidden':
      return isFalse(
        'NotPermitted',
        `The operator may not get Secret ${namespace}/${reading.secret}; grant it the verb get.`,
      );
  }
}

const REJECTED: Partial<Readonly<Record<MarketplaceErrorKind, ConditionState>>> = {
  unauthorized: isFalse(
    'KeyRejected',
    'The marketplace does not accept the key. Put a valid key into the Secret.',
  ),
  sessionExpired: isFalse(
    'KeyRejected',
    'The key is of a session that ended. Put an API key into the Secret.',
  ),
  twoFactorRequired: isFalse(
    'KeyRejected',
    'The marketplace wants a two-factor login for this key. Use an API key instead of a session key.',
  ),
  forbidden: isFalse(
    'KeyTooNarrow',
    'The key may not read its own user. Use a key with the categories user_read, instance_read, instance_write and misc.',
  ),
};

/**
 * Returns the condition of a key that the marketplace refused, with the status of its reply; undefined for another
 * failure.
 */
function rejected({ kind, httpStatus }: Failure): ConditionState | undefined {
  const state = REJECTED[kind];
  if (!state || httpStatus === undefined) return state;
  const [what = '', ...rest] = state.message.split('. ');
  return { ...state, message: [`${what} (HTTP ${httpStatus})`, ...rest].join('. ') };
}

/** Returns the condition of a marketplace that answers with complete lists. */
export function reachable(observed: Observed): ConditionState {
  const { url, session } = observed;
  if (url.type === 'refused') {
    return isUnknown('AddressInvalid', 'The operator sends no request to an address that is not allowed.');
  }
  const failure = listFailure(observed);
  if (!session) {
    if (failure && !REJECTED[failure.kind]) return unreachable(observed, failure);
    return isUnknown('Pending', 'The machines of the login have not been listed yet.');
  }
  if (failure) return unreachable(observed, failure);
  if (session.health.lastCompleteAt === undefined)
    return isUnknown('Pending', 'The machines of the login are being listed.');
  return isTrue('Ready', 'The marketplace answers with complete lists.');
}

/** Returns the condition of an unreachable marketplace with cause and start: its duration would change at each poll. */
function unreachable(observed: Observed, { kind, badCertificate }: Failure): ConditionState {
  const outage = marketplaceOutage(observed);
  const cause = outage ? `${outageCause(outage)}, no complete list since ${outage.since}` : 'No list arrives';
  if (badCertificate) {
    return isFalse(
      'AddressInvalid',
      "The marketplace's certificate cannot be trusted; check spec.url, the clock and the authorities.",
    );
  }
  switch (kind) {
    case 'throttled':
    case 'quotaExceeded':
      return isFalse('Throttled', `${cause}; requests are spaced further apart.`);
    case 'malformedReply':
      return isFalse('Unreachable', `${cause}; a reply that cannot be read is not believed.`);
    case 'blockedAddress':
      return isFalse(
        'AddressInvalid',
        'The URL resolves to an address that the operator may not call; correct it, or use --allow-private-addresses.',
      );
    case 'redirected':
      return isFalse('Unreachable', 'The marketplace redirects, which is never followed; correct spec.url.');
    case 'forbidden':
      return isFalse(
        'KeyTooNarrow',
        'The key may not list machines; use one with the category instance_read.',
      );
    default:
      return isFalse('Unreachable', `${cause}; retrying.`);
  }
}

/** Returns the condition of credit and spending that leave room for rentals. The text leaves out changing figures. */
export function funded({ account, proof, session }: Observed): ConditionState {
  const limits = limitsOf(account);
  const reached = SPEND_LIMITS.find(({ limit, spent }) => {
    const most = limits[limit];
    return most !== undefined && spent(session?.sums) >= most;
  });
  if (reached) {
    const amount = dollars(limits[reached.limit]);
    const figures = session ? reportedText(session.sums) : '';
    return isFalse('AtLimit', `${figures}limits.${reached.limit} of ${amount} is reached.`);
  }
  const credit = proof.type === 'proven' ? proof.user.credit : session?.sums.credit;
  const least = limits.minCredit ?? 0;
  if (credit === undefined)
    return isUnknown('KeyTooNarrow', 'The credit is not known: use a key with the category user_read.');
  if (credit > least) return isTrue('Ready', 'Credit and spending leave room for rentals.');
  return isFalse(
    'InsufficientCredit',
    `The credit is not above ${dollars(least)}. Add credit at the marketplace.`,
  );
}

const SPEND_LIMITS: readonly {
  readonly limit: 'maxSpendPerMonth' | 'maxSpendPerHour';
  readonly spent: (sums: AccountSums | undefined) => MicroDollars;
}[] = [
  {
    limit: 'maxSpendPerMonth',
    spent: (sums) => (sums ? sums.spentThisMonth + sums.unconfirmedThisMonth : 0),
  },
  { limit: 'maxSpendPerHour', spent: (sums) => (sums ? sums.dollarsPerHour + sums.unconfirmedPerHour : 0) },
];

const dollars = (amount: MicroDollars | undefined) => `$${formatDollars(amount ?? 0)}`;

/** Returns the first reason why the account gives no tickets, in the order in which a person should fix them. */
export function unreadiness(observed: Observed): Unreadiness | undefined {
  const { account, installation } = observed;
  if (account.metadata.deletionTimestamp !== undefined) return deleting(observed);
  const newer = newerRecord(account);
  if (newer) return newer;
  const auth = authenticated(observed);
  const reach = reachable(observed);
  // A marketplace that does not answer is the cause of a key that cannot be verified.
  if (auth.status === 'Unknown' && reach.status === 'False') return reach;
  if (auth.status !== 'True') return auth;
  if (installation.type === 'lost') return { reason: 'IdentityInvalid', message: installation.why.message };
  if (reach.status !== 'True') return reach;
  if (installation.type === 'pending') return { reason: 'Pending', message: installation.why.message };
  return undefined;
}

/** Returns the reason to stop for a record of a newer version, which may forbid actions of this version. */
function newerRecord({ status }: Observed['account']): Unreadiness | undefined {
  const version = newerVersion(status);
  if (version === undefined) return undefined;
  const message = `status.record is of version ${version}, so nothing is rented or destroyed with this account. Install the newer version again.`;
  return { reason: 'RecordUnreadable', message };
}

function deleting(observed: Observed): Unreadiness {
  const { blockers } = observed;
  const orphans = orphansOnDeletion(observed);
  if (blockers.length === 0 && orphans.type === 'awaited')
    return { reason: 'Deleting', message: orphans.message };
  if (blockers.length === 0) return { reason: 'Deleting', message: 'The account is being removed.' };
  const named = blockers.slice(0, 10).join(', ');
  const more = blockers.length > 10 ? ` and ${blockers.length - 10} more` : '';
  return {
    reason: 'Deleting',
    message: `GpuInstances still have machines of this account: ${named}${more}. Delete them; the account is then deleted, too.`,
  };
}

/** Returns the summary condition: the account can rent. */
export function ready(observed: Observed): ConditionState {
  const why = unreadiness(observed);
  if (why) return isFalse(why.reason, why.message);
  const pause = suspended(observed);
  if (pause) return { ...pause, status: 'False' };
  const money = funded(observed);
  if (money.status === 'False') return money;
  return isTrue('Ready', `Machines can be rented with this account.${withoutOrphans(observed)}`);
}

/** Returns the sentence that orphaned machines are not destroyed, which no other condition reports. */
function withoutOrphans({ account, session }: Observed): string {
  return account.spec.orphanPolicy === 'Destroy' && session?.labelEcho === 'notEchoed' ? NO_ORPHANS : '';
}

const NO_ORPHANS =
  ' spec.orphanPolicy Destroy has no effect: the marketplace keeps no labels, so no machine is recognized as orphaned. Set Report.';

/** Returns the condition while `spec.suspend` is set, with the machines that still bill; undefined otherwise. */
export function suspended({ account, session }: Observed): ConditionState | undefined {
  if (account.spec.suspend !== true) return undefined;
  const billing = session?.counts?.billing ?? account.status?.machines?.billing ?? 0;
  const rest =
    billing === 0
      ? 'No machine bills.'
      : `${counted(billing, 'machine')} still ${agreeing(billing, 'bills', 'bill')}.`;
  return isTrue('Suspended', `spec.suspend is true: nothing is rented or started. ${rest}`);
}

/** Returns the present outage. Until a new process has its own findings it returns the recorded one. */
export function outageNow(observed: Observed): Outage | undefined {
  const { account, proof, now } = observed;
  const marketplace = marketplaceOutage(observed);
  const auth = authenticated(observed);
  const isRefused = auth.status === 'False' && facetsOf(auth.reason).loses === 'account';
  if (marketplace && !isRefused) return marketplace;
  if (auth.status === 'Unknown' || reachable(observed).status === 'Unknown') return account.status?.outage;
  const money = funded(observed);
  const lost = isRefused
    ? auth
    : money.status === 'False' && facetsOf(money.reason).loses === 'account'
      ? money
      : undefined;
  if (!lost) return undefined;
  const figures = isRefused && proof.type === 'failed' ? figuresOf(proof.failure) : {};
  return continued(observed, { reason: lost.reason, since: formatTime(now), ...figures });
}

function massOrphaned(observed: Observed): Unreadiness | undefined {
  const { massOrphaned: ids = [] } = massOrphanRecord(observed);
  if (ids.length === 0) return undefined;
  const named = ids.slice(0, 10).join(', ');
  const more = ids.length > 10 ? ` and ${ids.length - 10} more` : '';
  const message = `${ids.length} machines lost their GpuInstances at once and are not destroyed: ${named}${more}. Restore the objects, or set the annotation gpurental.dev/confirm-orphans to a new value, such as the time, to destroy them slowly.`;
  return { reason: 'OrphansHeld', message };
}

/** Returns the reason why a person must act; undefined if none. */
export function stalled(observed: Observed): Unreadiness | undefined {
  const { installation } = observed;
  const summary = ready(observed);
  if (summary.status === 'False' && isTerminal(summary.reason)) return summary;
  if (installation.type === 'known' && installation.sweep === 'clusterChanged') {
    const message =
      'The identity of this installation belongs to another cluster, so orphaned machines are not swept. If this cluster is a copy, delete the Secret gpu-rental-operator-identity here.';
    return { reason: 'IdentityInvalid', message };
  }
  const { rolledBack = [] } = rollbackRecord(observed);
  if (rolledBack.length === 0) return massOrphaned(observed);
  return {
    reason: 'OrphansHeld',
    message: `Machines ${rolledBack.join(', ')} were rented by this operator and are younger than every rental on record: the cluster was restored from a backup. Check them, then set the annotation gpurental.dev/confirm-rollback to a value that it has not had, such as the time; until then no orphaned machine is destroyed.`,
  };
}
