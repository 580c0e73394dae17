import type { Installation } from '../../accounts/installation/installation.ts';
import { type AccountRegistry, refOf } from '../../accounts/registry.ts';
import { serviceNow } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { AccountRef } from '../../instance/account-ref.ts';
import type { InstanceSummary } from '../../instance/summary.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ReconcileContext } from '../../runtime/controller.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import { withReading } from './credit-low.ts';
import type { KeyCheck, KeyChecks } from './key-checks.ts';
import { failureOf, sameLogin } from './key-proof.ts';
import type { CreditReading, MachineCounts, Observed, SessionFacts, UrlCheck } from './types.ts';

/** Sources of an account's reconcile. */
export interface AccountSources extends BlockerSources {
  readonly installation: Installation;
  readonly keyChecks: KeyChecks;
  readonly clock: Clock;
  readonly allowedUrls: readonly string[];
  readonly keyCheckIntervalMs: number;
  /** Every GpuInstance in the cache, whatever account it names. */
  readonly allObjects: () => readonly InstanceSummary[];
  /** Every account in the cache. */
  readonly allAccounts: () => readonly MarketplaceAccount[];
  readonly figuresWrittenAt: (uid: string) => number | undefined;
  /** Readings of the reconcile before. */
  readonly creditReadings: (uid: string) => readonly CreditReading[];
}

/**
 * Gathers the inputs of a reconcile. It reads the Secret and the marketplace only if a check is due; it waits for the
 * marketplace `aside`, since a slow one must not delay other accounts.
 */
export async function observe(
  account: MarketplaceAccount,
  sources: AccountSources,
  aside: ReconcileContext['aside'],
): Promise<Observed> {
  const { registry, clock } = sources;
  const ref = refOf(account);
  const url = checkUrl(account, sources.allowedUrls);
  const check = url.type === 'allowed' ? await sources.keyChecks.check(account, url.url, aside) : NOT_CHECKED;
  const { reading, proof, keyKept, againInMs, failingSince, unanswered } = check;
  const objects = registry.objectsOf(account).all();
  const session = registry.session(ref);
  session?.update(account);
  const facts = session && (await sessionFacts(session, account, { objects, sources, aside }));
  return Object.freeze({
    account,
    now: clock.now(),
    serviceNow: session?.isListed ? serviceNow(session.serviceClock.now(), clock.now()) : undefined,
    url,
    reading,
    proof,
    keyKept,
    keyFailingSince: failingSince,
    keyUnanswered: unanswered,
    keyCheckAgainInMs: Math.min(againInMs, sources.keyCheckIntervalMs),
    session: facts,
    installation: sources.installation.state(),
    beside: besideOf(account, sources),
    blockers: await findBlockers(account, objects, sources),
    newestRentalAt: objects.reduce<number | undefined>(
      (newest, { newestRentalAt: at }) => (at === undefined ? newest : Math.max(newest ?? at, at)),
      undefined,
    ),
    figuresWrittenAt: sources.figuresWrittenAt(objectKey(account.metadata)),
    creditReadings: withReading(sources.creditReadings(objectKey(account.metadata)), readingOf(check, facts)),
  });
}

/** Returns the credit of a check with the present cost; undefined if the check failed or no session knows the cost. */
function readingOf(
  { proof, checkedAt }: KeyCheck,
  session: SessionFacts | undefined,
): CreditReading | undefined {
  if (proof.type !== 'proven' || !session) return undefined;
  return { checkedAt, credit: proof.user.credit, pricePerHour: session.sums.dollarsPerHour };
}

const NOT_CHECKED: KeyCheck = {
  reading: { type: 'secretMissing', secret: '' },
  proof: { type: 'none' },
  keyKept: false,
  failingSince: undefined,
  unanswered: 0,
  checkedAt: 0,
  againInMs: Number.POSITIVE_INFINITY,
};

/**
 * Returns the account's URL if the operator allows it. The first of the list is the default until a login is pinned.
 * If the first URL changes later, no account moves to another marketplace, and no key is sent there.
 */
export function checkUrl({ spec, status }: MarketplaceAccount, allowed: readonly string[]): UrlCheck {
  const requested = (spec.url ?? status?.login?.url ?? allowed[0] ?? '').replace(/\/+$/, '');
  if (allowed.includes(requested)) return { type: 'allowed', url: requested };
  const url =
    URL.canParse(requested) && new URL(requested).pathname === '/' ? new URL(requested).origin : requested;
  return allowed.includes(url) ? { type: 'allowed', url } : { type: 'refused', url, allowed };
}

/**
 * Returns the effect of other accounts of the login on orphans. An account without a session, or in deletion, does
 * not count, since it soon stops sweeping.
 */
function besideOf(
  account: MarketplaceAccount,
  { allAccounts, registry }: AccountSources,
): Observed['beside'] {
  const { login } = account.status ?? {};
  const others = allAccounts().filter(
    ({ metadata, status }) =>
      metadata.uid !== account.metadata.uid && login && status?.login && sameLogin(status.login, login),
  );
  const connected = new Set(registry.proven().map(({ uid }) => uid));
  const stays = ({ metadata }: MarketplaceAccount) =>
    metadata.deletionTimestamp === undefined && connected.has(metadata.uid ?? '');
  if (others.some(stays)) return 'sweeps';
  return others.some(({ spec }) => spec.orphanPolicy === 'Report') ? 'reports' : 'nothing';
}

interface SessionContext {
  readonly objects: readonly InstanceSummary[];
  readonly sources: AccountSources;
  readonly aside: ReconcileContext['aside'];
}

async function sessionFacts(
  session: AccountSession,
  account: MarketplaceAccount,
  context: SessionContext,
): Promise<SessionFacts> {
  const provenGone = await context.aside(() => session.provenGone());
  const health = session.feed.health();
  return {
    login: session.login,
    health,
    failure: health.lastError && failureOf(health.lastError),
    counts: machineCounts(session, context, account),
    provenGone,
    sums: session.admission.sums(),
    breaker: session.observer.breaker,
    labelEcho: session.observer.labelEcho,
    avoid: session.avoid.durable(),
    findings: session.findings,
    pendingOrphans: session.pendingOrphans(),
  };
}

function machineCounts(
  session: AccountSession,
  { objects, sources }: SessionContext,
  { status }: MarketplaceAccount,
): MachineCounts | undefined {
  const inventory = session.inventory(sources.allObjects());
  if (!inventory) return undefined;
  const count = (...types: readonly (typeof inventory)[number]['type'][]) =>
    inventory.filter(({ type }) => types.includes(type)).length;
  return {
    objects: objects.length,
    rented: count('claimed'),
    billing: count('claimed', 'orphan', 'retained'),
    retained: count('retained'),
    orphaned: session.pendingOrphans() ? session.findings.orphans.length : (status?.machines?.orphaned ?? 0),
    ...(count('copied') > 0 && { copied: count('copied') }),
    foreign: count('foreign'),
  };
}

/** Sources of the objects that block the deletion of an account. */
export interface BlockerSources {
  readonly registry: AccountRegistry;
  /**
   * Lists GpuInstances that name the account from the API server, so that every write that was answered before is
   * included.
   */
  readonly listObjects: (ref: AccountRef) => Promise<readonly InstanceSummary[]>;
}

/**
 * Objects that block the deletion of an account, as namespace/name. If the cache shows none, it may be behind a
 * purchase. Therefore the account first stops giving tickets and waits for holders of earlier ones. Then it reads the
 * objects from the API server, where each intent was recorded before any money was spent.
 */
export async function findBlockers(
  account: MarketplaceAccount,
  objects: readonly InstanceSummary[],
  { registry, listObjects }: BlockerSources,
): Promise<readonly string[]> {
  const known = blocking(objects);
  if (known.length > 0 || account.metadata.deletionTimestamp === undefined) return known;
  const session = registry.session(refOf(account));
  session?.refuse({ reason: 'AccountNotReady', message: 'The account is being removed.' });
  const renting = session?.admission.rentingFor() ?? [];
  if (renting.length > 0)
    return renting.map((uid) => objects.find((object) => object.uid === uid)?.key ?? uid);
  return blocking(registry.counted(account, await listObjects(refOf(account))));
}

function blocking(objects: readonly InstanceSummary[]): readonly string[] {
  const isBlocking = (object: InstanceSummary) =>
    object.instanceId !== undefined || object.hasOpenIntent || object.hasDoubtfulIntent;
  return objects.filter(isBlocking).map((object) => object.key);
}
