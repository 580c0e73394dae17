import type { MarketplaceAccount } from '../../src/api/v1alpha1/marketplace-account.ts';
import type { Failure, KeyProof } from '../../src/controllers/marketplace-account/key-proof.ts';
import type { Observed, SessionFacts } from '../../src/controllers/marketplace-account/types.ts';
import { Secret } from '../../src/lib/secret.ts';
import type { MarketplaceErrorKind } from '../../src/market/errors.ts';
import { newIdentity } from '../../src/ownership/identity.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
export const LOGIN = { url: 'https://market.example', userId: '7' };
const FIRST_KEY = new Secret('first-key');
export const SECOND_KEY = new Secret('second-key');

const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);

type Proven = Extract<KeyProof, { type: 'proven' }>;

/** Returns a key that proves user 7 with 100 dollars of credit. */
export function proven(changes: Partial<Proven> = {}): Proven {
  return {
    type: 'proven',
    source: 'user',
    key: FIRST_KEY,
    login: LOGIN,
    mayDestroy: true,
    user: {
      id: '7',
      credit: 100_000_000,
      sshKey: 'ssh-ed25519 AAAA',
      twoFactor: 'disabled',
    },
    ...changes,
  };
}

/** Returns a key that a single reply assigned to user 7. */
export function unconfirmed(
  changes: Partial<Extract<KeyProof, { type: 'unconfirmed' }>> = {},
): Extract<KeyProof, { type: 'unconfirmed' }> {
  return { type: 'unconfirmed', source: 'user', login: LOGIN, ...changes };
}

/** Returns a session whose lists arrive, without machines. */
export function session(changes: Partial<SessionFacts> = {}): SessionFacts {
  return {
    login: LOGIN,
    health: { lastCompleteAt: NOW - 1_000, consecutiveFailures: 0, failingSince: undefined },
    failure: undefined,
    counts: { objects: 0, rented: 0, billing: 0, retained: 0, orphaned: 0, foreign: 0 },
    provenGone: new Set(),
    sums: {
      rentalsLastHour: 0,
      rentalsUnderWay: 0,
      oldestRentalAt: undefined,
      liveMachines: 0,
      orphanMachines: 0,
      orphanDollarsPerHour: 0,
      dollarsPerHour: 0,
      spentThisMonth: 0,
      ...{ unconfirmedPerHour: 0, unconfirmedThisMonth: 0 },
      credit: 100_000_000,
    },
    breaker: { type: 'closed' },
    labelEcho: 'unknown',
    avoid: [],
    findings: { orphans: [], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] },
    pendingOrphans: [],
    ...changes,
  };
}

/** Returns a key that could not be verified. */
export function failed(kind: MarketplaceErrorKind, change: Partial<Failure> = {}): KeyProof {
  return { type: 'failed', source: 'user', failure: { kind, badCertificate: false, ...change } };
}

/** Returns the account of {@link observed} with another status, metadata or spec. */
export function accountWith(change: {
  readonly status?: MarketplaceAccount['status'];
  readonly metadata?: Partial<MarketplaceAccount['metadata']>;
  readonly spec?: Partial<MarketplaceAccount['spec']>;
}): MarketplaceAccount {
  const { metadata, spec, ...rest } = account();
  return {
    ...rest,
    metadata: { ...metadata, ...change.metadata },
    spec: { ...spec, ...change.spec },
    ...(change.status && { status: change.status }),
  };
}

function account(): MarketplaceAccount {
  return {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'MarketplaceAccount',
    metadata: {
      name: 'default',
      namespace: 'team',
      uid: 'account-uid',
      generation: 1,
      finalizers: ['gpurental.dev/account'],
    },
    spec: {
      market: 'Vast',
      apiKeySecretRef: { name: 'key', key: 'api-key' },
      pollInterval: '10s',
      allowedNamespaces: { from: 'Same' },
      limits: {},
      orphanPolicy: 'Report',
      adoption: 'None',
      maxUnhealthy: '20%',
      maxUnhealthyHold: '30m',
    },
  };
}

/** Returns a healthy account; pass only what matters to the row. */
export function observed(changes: Partial<Observed> = {}): Observed {
  return {
    account: account(),
    now: NOW,
    serviceNow: NOW,
    url: { type: 'allowed', url: LOGIN.url },
    reading: { type: 'key', key: FIRST_KEY },
    proof: proven(),
    session: session(),
    installation: { type: 'known', identity, sweep: 'allowed' },
    blockers: [],
    beside: 'nothing',
    newestRentalAt: undefined,
    keyKept: false,
    keyFailingSince: undefined,
    keyUnanswered: 0,
    figuresWrittenAt: undefined,
    creditReadings: [],
    keyCheckAgainInMs: 60_000,
    ...changes,
  };
}
