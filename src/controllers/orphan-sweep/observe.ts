import type { AccountObject } from '../../accounts/account-object.ts';
import type { AccountRegistry } from '../../accounts/account-registry.ts';
import { keyOf } from '../../accounts/account-registry.ts';
import type { Installation } from '../../accounts/installation/installation.ts';
import type { ProvenAccount } from '../../accounts/proven-account.ts';
import type { BreakerState } from '../../accounts/watch/breaker.ts';
import type { CensusEntry } from '../../accounts/watch/machine-census.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CompleteList } from '../../marketplace/feed/feed-event.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import { loginText } from '../../ownership/login.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { SweepMemory } from './sweep-memory.ts';
import type { Candidate, Observed } from './types.ts';

/** Where a sweep looks. */
export interface SweepSources {
  readonly registry: AccountRegistry;
  readonly installation: Installation;
  readonly accounts: Informer<MarketplaceAccount>;
  /** Every GpuInstance in the cache, whatever account it names. */
  readonly allObjects: () => readonly AccountObject[];
  /** Every GpuInstance of the watched scope, read now: it contains each write that was answered before. */
  readonly listObjects: () => Promise<readonly AccountObject[]>;
  readonly isLeader: () => boolean;
  readonly memory: SweepMemory;
  readonly clock: Clock;
  readonly constants: PurchaseConstants;
}

/** What one sweep is made with: all sessions of one login, and the list that it rides on. */
export interface Sweep {
  readonly sessions: readonly [ProvenAccount, ...ProvenAccount[]];
  readonly list: CompleteList;
}

/**
 * Gathers one sweep. The machines were listed first; objects are read after, and only where the cache does
 * not claim every machine, so that an intent which preceded its machine is certainly seen.
 */
export async function observe(sweep: Sweep, sources: SweepSources): Promise<Observed> {
  const [first] = sweep.sessions;
  const accounts = sweep.sessions.flatMap(({ ref }) => sources.accounts.get(keyOf(ref)) ?? []);
  const policy = policyOf(accounts);
  const { objects, entries } = await settledCensus(sweep, policy, sources);
  const state = sources.installation.state();
  const observed: Observed = {
    now: sources.clock.now(),
    candidates: candidatesOf(sweep, unclaimedOf(entries), sources.memory),
    copied: entries.flatMap((entry) => (entry.type === 'copied' ? [entry.row.id] : [])),
    before: first.findings(),
    policy,
    breaker: openBreaker(sweep) ?? { type: 'closed' },
    sweep: state.type === 'known' ? state.sweep : 'clusterChanged',
    isLeader: sources.isLeader(),
    orphanAgeMs: sources.constants.orphanAgeMs,
    newestRecordAt: newestRecord(objects, accounts),
  };
  return Object.freeze(observed);
}

/** Where several accounts share a login, all of them must want orphans destroyed. */
function policyOf(accounts: readonly MarketplaceAccount[]): Observed['policy'] {
  const destroys = accounts.length > 0 && accounts.every(({ spec }) => spec.orphanPolicy === 'Destroy');
  return destroys ? 'Destroy' : 'Report';
}

/** One open breaker of a login keeps its machines from being swept. */
function openBreaker({ sessions }: Sweep): BreakerState | undefined {
  return sessions.map((session) => session.breaker()).find(({ type }) => type === 'open');
}

interface Census {
  readonly objects: readonly AccountObject[];
  readonly entries: readonly CensusEntry[];
}

/** By the cache where that claims everything or where machines are only reported again; else by objects read now. */
async function settledCensus(
  { sessions }: Sweep,
  policy: Observed['policy'],
  sources: SweepSources,
): Promise<Census> {
  const [session] = sessions;
  const login = loginText(session.login);
  const retained = sessions.flatMap((each) => each.retained());
  const cached = sources.allObjects();
  const entries = session.census(cached, retained) ?? [];
  const suspects = idsOf(unclaimedOf(entries));
  const now = sources.clock.monotonic();
  const isOldNews = policy === 'Report' && sources.memory.isSettled(login, suspects, now);
  if (suspects.length === 0 || isOldNews) return { objects: cached, entries };
  const objects = await sources.listObjects();
  const settled = session.census(objects, retained) ?? [];
  sources.memory.settle(login, idsOf(unclaimedOf(settled)), now);
  return { objects, entries: settled };
}

const idsOf = (unclaimed: readonly Unclaimed[]) => unclaimed.map(({ row }) => row.id);

type Unclaimed = Extract<CensusEntry, { type: 'unclaimed' }>;

function unclaimedOf(entries: readonly CensusEntry[]): readonly Unclaimed[] {
  return entries.filter((entry) => entry.type === 'unclaimed');
}

function candidatesOf(
  sweep: Sweep,
  unclaimed: readonly Unclaimed[],
  memory: SweepMemory,
): readonly Candidate[] {
  const ids = idsOf(unclaimed);
  const sweeps = memory.count(loginText(sweep.sessions[0].login), sweep.list.begunAt, ids);
  return unclaimed.map(({ row, facts }) => ({
    instanceId: row.id,
    issuedAt: facts.issuedAt,
    startedAt: row.startedAt,
    pricePerHour: row.pricePerHour,
    sweeps: sweeps.get(row.id) ?? 1,
  }));
}

/** The newest rental that objects or accounts of the cluster remember. */
function newestRecord(objects: readonly AccountObject[], accounts: readonly MarketplaceAccount[]): number {
  const fromObjects = objects.map(({ newestRentalAt }) => newestRentalAt ?? 0);
  const fromAccounts = accounts.map(({ status }) => Date.parse(status?.lastRentalAt ?? '') || 0);
  return [...fromObjects, ...fromAccounts].reduce((a, b) => Math.max(a, b), 0);
}
