import { listsAgree, unrecorded } from '../../accounts/beliefs/machine.ts';
import { allowedUnhealthy, type BreakerState, isUnresolved } from '../../accounts/breaker.ts';
import type { Installation } from '../../accounts/installation/installation.ts';
import type { InventoryEntry } from '../../accounts/inventory.ts';
import { type AccountRegistry, refOf } from '../../accounts/registry.ts';
import { believedNow, confirmedNow } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { accountKey } from '../../instance/account-ref.ts';
import type { InstanceSummary } from '../../instance/summary.ts';
import type { Clock } from '../../lib/clock.ts';
import { newerVersion } from '../../lib/stored-form.ts';
import type { CompleteList } from '../../market/feed-state.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import { loginText } from '../../ownership/login.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import { decide } from './decide.ts';
import type { Sighting, SweepMemory } from './sweep-memory.ts';
import type { Candidate, Observed } from './types.ts';

/** An object together with the account that it names (namespace/name). */
export interface ListedObject extends InstanceSummary {
  readonly account: string;
}

/** Sources of a sweep. */
export interface SweepSources {
  readonly registry: AccountRegistry;
  readonly installation: Installation;
  readonly accounts: Informer<MarketplaceAccount>;
  /** Every GpuInstance in the cache, whatever account it names. */
  readonly allObjects: () => readonly InstanceSummary[];
  /** Lists every GpuInstance of the watched scope from the API server, including all completed writes. */
  readonly listObjects: () => Promise<readonly ListedObject[]>;
  /** Every account of the watched scope, read now. */
  readonly listAccounts: () => Promise<readonly MarketplaceAccount[]>;
  readonly isLeader: () => boolean;
  readonly memory: SweepMemory;
  readonly clock: Clock;
  readonly constants: PurchaseConstants;
}

/** Basis of one sweep: all sessions of one login, and the list behind it. */
export interface Sweep {
  readonly sessions: readonly [AccountSession, ...AccountSession[]];
  readonly list: CompleteList;
}

/**
 * Gathers one sweep. The machines were listed first; objects are read after, and only if the cache does
 * not claim every machine, so that an intent which preceded its machine is certainly seen.
 */
export async function observe(sweep: Sweep, sources: SweepSources): Promise<Observed> {
  const cached = cachedInventory(sweep, sources);
  const suspects = idsOf(orphansOf(cached.entries));
  if (suspects.length === 0) return countedIn(cached, sweep, sources);
  const login = loginText(sweep.sessions[0].login);
  if (sources.memory.isSettled(login, suspects, sources.clock.monotonic())) {
    // Another list of all objects is only needed for a destroy, and not for machines that are reported, too young or
    // still kept.
    const again = countedIn(cached, sweep, sources);
    if (!decide(again).actions.some(({ type }) => type === 'destroy')) return again;
  }
  return countedIn(await settledInventory(sweep, suspects, sources), sweep, sources);
}

/**
 * Observes again from the newest list and the caches just before a destroy call is sent. It does not count as a
 * sweep. If the cache missed an event and lacks an object, the object claims its machine as in the previous sweep:
 * otherwise its machine would look orphaned and every destroy would be cancelled.
 */
export function observeAgain({ sessions }: Sweep, sources: SweepSources): Observed | undefined {
  const list = sessions[0].feed.latest();
  if (!list) return undefined;
  const sweep = { sessions, list };
  const login = loginText(sessions[0].login);
  const missed = sources.memory.missedByCache(login);
  const { entries, ...cached } = cachedInventory(sweep, sources);
  const known = entries.map((entry): InventoryEntry => {
    const isMissed = entry.type === 'orphan' && missed.has(entry.row.id);
    return isMissed ? { type: 'claimed', row: entry.row } : entry;
  });
  return observedBy({ ...cached, entries: known }, sources.memory.sightings(login), { sweep, sources });
}

/** Records the orphaned machines of this sweep, and returns them with the number of sweeps. */
function countedIn(inventory: SweepInventory, sweep: Sweep, sources: SweepSources): Observed {
  const { newestRecordAt, entries } = inventory;
  const login = loginText(sweep.sessions[0].login);
  const counted = { listBegunAt: sweep.list.begunAt, newestRecordAt };
  const sightings = sources.memory.count(login, counted, idsOf(orphansOf(entries)));
  return observedBy(inventory, sightings, { sweep, sources });
}

function observedBy(
  inventory: SweepInventory,
  sightings: ReadonlyMap<string, Sighting>,
  { sweep, sources }: { readonly sweep: Sweep; readonly sources: SweepSources },
): Observed {
  const [first] = sweep.sessions;
  const { accounts, newestRecordAt, entries } = inventory;
  const state = sources.installation.state();
  const observed: Observed = {
    now: confirmedNow(first.serviceClock.now(), sources.clock.now()),
    candidates: candidatesOf(orphansOf(entries), {
      sightings,
      newestRecordAt,
      agreement: first.agreement,
      destroyed: destroyedWithObjects(accounts),
    }),
    copied: copiesIn(entries, first, sources.constants.listLagMs),
    others: othersOf(entries),
    before: first.findings,
    policy: policyOf(accounts),
    breaker: openBreaker(sweep) ?? { type: 'closed' },
    sweep: state.type === 'known' ? state.sweep : 'clusterChanged',
    isLeader: sources.isLeader(),
    orphanAgeMs: sources.constants.orphanAgeMs,
    lateOrphanAgeMs: sources.constants.lateOrphanAgeMs,
    hasNewerRecord: accounts.some(({ status }) => newerVersion(status) !== undefined),
    latched: accounts.flatMap(({ status }) => status?.rolledBack ?? []),
    ...massOf(sweep, { accounts, entries }, sources),
    confirmedAt: newestOf(accounts.map(({ status }) => status?.rollbackConfirmedAt)),
  };
  return Object.freeze(observed);
}

/**
 * Returns the accounts of the login, including accounts whose own key is no longer verified: their stored keys and
 * their policy apply as long as they exist.
 */
function accountsOf(
  { sessions: [session, ...others] }: Sweep,
  all: readonly MarketplaceAccount[],
): readonly MarketplaceAccount[] {
  const login = loginText(session.login);
  const connected = new Set([session, ...others].map(({ ref }) => accountKey(ref)));
  return all.filter(
    (account) =>
      connected.has(accountKey(refOf(account))) ||
      (account.status?.login !== undefined && loginText(account.status.login) === login),
  );
}

/** Machines that these accounts list as kept on purpose. */
function retainedOf(accounts: readonly MarketplaceAccount[]): readonly string[] {
  return accounts.flatMap(({ status }) => (status?.retained ?? []).map(({ instanceId }) => instanceId));
}

/** Machines that the operator destroyed for deleted objects of these accounts. */
function destroyedWithObjects(accounts: readonly MarketplaceAccount[]): ReadonlySet<string> {
  return new Set(accounts.flatMap(({ status }) => status?.deletedObjects?.machines ?? []));
}

/** Returns the orphan policy of a login. It destroys only if all accounts of the login destroy orphans. */
function policyOf(accounts: readonly MarketplaceAccount[]): Observed['policy'] {
  const destroys = accounts.length > 0 && accounts.every(({ spec }) => spec.orphanPolicy === 'Destroy');
  return destroys ? 'Destroy' : 'Report';
}

/** Returns the maximum number of orphans at once, and the record of the sweeps that exceeded it. */
function massOf(
  { sessions: [session] }: Sweep,
  { accounts, entries }: Pick<SweepInventory, 'accounts' | 'entries'>,
  { clock }: SweepSources,
): Pick<Observed, 'maxOrphans' | 'swept' | 'massLatched' | 'massConfirmed' | 'machines'> {
  const machines = entries.filter(({ type }) => type === 'claimed' || type === 'orphan').length;
  const now = believedNow(session.serviceClock.now(), clock.now());
  const confirmed = accounts.flatMap(({ status }) => status?.orphansConfirmed ?? []);
  return {
    machines,
    maxOrphans: Math.min(...accounts.map(({ spec }) => maxOrphansOf(spec.maxUnhealthy, machines))),
    swept: sweptOf(accounts, now),
    massLatched: accounts.flatMap(({ status }) => status?.massOrphaned ?? []),
    massConfirmed: new Set(confirmed),
  };
}

/**
 * Returns the machines swept within the last hour, from the record of the login's accounts: a restart allows no second
 * batch.
 */
function sweptOf(accounts: readonly MarketplaceAccount[], now: number): Observed['swept'] {
  const recorded = accounts.flatMap(({ status }) => status?.orphansSwept ?? []);
  const within = (spanMs: number) =>
    new Set(recorded.flatMap(({ instanceId, at }) => (now - Date.parse(at) < spanMs ? [instanceId] : [])));
  return { lastHour: within(HOUR_MS), lastWindow: within(SWEEP_WINDOW_MS).size };
}

const HOUR_MS = 3_600_000;
/** Orphans of a mass that a person has confirmed are destroyed slowly: so many within this time. */
const SWEEP_WINDOW_MS = 600_000;
const MIN_MASS = 3;

function maxOrphansOf(maxUnhealthy: number | string, machines: number): number {
  return Math.max(MIN_MASS, allowedUnhealthy(maxUnhealthy, machines) ?? machines);
}

/** Returns the open breaker of a login, which blocks its sweeps. */
function openBreaker({ sessions }: Sweep): BreakerState | undefined {
  return sessions.map((session) => session.observer.breaker).find(isUnresolved);
}

interface SweepInventory {
  /** Accounts of the login. */
  readonly accounts: readonly MarketplaceAccount[];
  /**
   * Time of the newest rental in any durable record of the login, in epoch milliseconds; 0 if there is none, or if the
   * records were not read.
   */
  readonly newestRecordAt: number;
  readonly entries: readonly InventoryEntry[];
}

/**
 * Returns the inventory from the caches. It suffices if the caches claim every machine, or if the same machines were
 * settled a moment ago.
 */
function cachedInventory(sweep: Sweep, sources: SweepSources): SweepInventory {
  const accounts = accountsOf(sweep, sources.accounts.list());
  const entries = sweep.sessions[0].inventory(sources.allObjects(), retainedOf(accounts), sweep.list) ?? [];
  return { accounts, newestRecordAt: 0, entries };
}

/**
 * Returns the inventory from objects read now, and from accounts read after them: an account lists a machine as kept
 * before the object is deleted.
 */
async function settledInventory(
  sweep: Sweep,
  suspects: readonly string[],
  sources: SweepSources,
): Promise<SweepInventory> {
  const [session] = sweep.sessions;
  const login = loginText(session.login);
  const now = sources.clock.monotonic();
  const objects = await sources.listObjects();
  const accounts = accountsOf(sweep, await sources.listAccounts());
  const settled = session.inventory(objects, retainedOf(accounts), sweep.list) ?? [];
  sources.memory.settle(login, { orphans: idsOf(orphansOf(settled)), suspects }, now);
  return { accounts, newestRecordAt: newestRecord(objects, accounts), entries: settled };
}

/** Returns the first few entries: anyone with access to the console can write labels, so their number has no limit. */
function othersOf(entries: readonly InventoryEntry[]): readonly string[] {
  const named = entries.flatMap((entry) => (entry.type === 'foreign' ? (entry.installation ?? []) : []));
  return [...new Set(named)].sort().slice(0, MAX_OTHERS);
}

const MAX_OTHERS = 3;

const idsOf = (orphans: readonly OrphanEntry[]) => orphans.map(({ row }) => row.id);

type OrphanEntry = Extract<InventoryEntry, { type: 'orphan' }>;

function orphansOf(entries: readonly InventoryEntry[]): readonly OrphanEntry[] {
  return entries.filter((entry) => entry.type === 'orphan');
}

function candidatesOf(
  orphans: readonly OrphanEntry[],
  {
    sightings,
    newestRecordAt,
    agreement,
    destroyed,
  }: AgreementOf & {
    readonly sightings: ReadonlyMap<string, Sighting>;
    readonly newestRecordAt: number;
    readonly destroyed: ReadonlySet<string>;
  },
): readonly Candidate[] {
  return orphans.map(({ row, facts, isLate }) => ({
    instanceId: row.id,
    issuedAt: facts.issuedAt,
    startedAt: row.startedAt,
    label: row.label,
    isAgreed: isAgreed(row, agreement),
    ...(isLate && { isLate }),
    ...(destroyed.has(row.id) && { wasDestroyed: true as const }),
    pricePerHour: row.pricePerHour,
    ...(sightings.get(row.id) ?? { sweeps: 1, newestRecordAt }),
  }));
}

/**
 * Returns the machines that are proven copies. All machines with the label must be listed with another start, or
 * twice, for `lagMs`. Fewer lists prove nothing. Otherwise a machine of this installation could keep billing after
 * its object is deleted.
 */
function copiesIn(
  entries: readonly InventoryEntry[],
  { agreement }: AgreementOf,
  lagMs: number,
): readonly string[] {
  const byLabel = Map.groupBy(entries, ({ row }) => row.label);
  const isHeld = (row: OrphanEntry['row']) =>
    COPY_FIELDS.every((field) => (agreement(row).heldMs(field) ?? -1) >= lagMs);
  const isSettled = ({ label }: OrphanEntry['row']) =>
    byLabel.get(label)?.every(({ row }) => isHeld(row)) === true;
  return entries.flatMap(({ type, row }) =>
    type === 'copied' && row.startedAt !== undefined && isSettled(row) ? [row.id] : [],
  );
}

/** Fields that distinguish a copy from its original. */
const COPY_FIELDS = ['label', 'startedAt'] as const;

type AgreementOf = Pick<AccountSession, 'agreement'>;

/** Returns true if two lists agree on the label and the start of a machine. */
function isAgreed(row: OrphanEntry['row'], agreement: AgreementOf['agreement']): boolean {
  return listsAgree(unrecorded(row, agreement(row)), 'label');
}

/** Returns the newest recorded rental of these accounts and of the objects that name one of them. */
function newestRecord(objects: readonly ListedObject[], accounts: readonly MarketplaceAccount[]): number {
  const names = new Set(accounts.map((account) => accountKey(refOf(account))));
  const fromObjects = objects
    .filter(({ account }) => names.has(account))
    .map(({ newestRentalAt }) => newestRentalAt ?? 0);
  const fromAccounts = newestOf(accounts.map(({ status }) => status?.lastRentalAt));
  return fromObjects.reduce((a, b) => Math.max(a, b), fromAccounts);
}

/** Returns the newest of these timestamps in epoch milliseconds; 0 if there is none. */
function newestOf(timestamps: readonly (string | undefined)[]): number {
  return timestamps.reduce((newest, text) => Math.max(newest, Date.parse(text ?? '') || 0), 0);
}
