import type { AccountSession } from '../../accounts/account-session.ts';
import { avoidOf, breakerOf, pollIntervalOf } from '../../accounts/account-status.ts';
import { avoidedAt } from '../../accounts/avoid-list.ts';
import { limitsOf } from '../../accounts/tickets/limits.ts';
import { echoOf } from '../../accounts/watch/label-echo.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { Feed } from '../../marketplace/feed/feed.ts';
import type { CompleteList } from '../../marketplace/feed/feed-event.ts';
import type { Identity } from '../../ownership/identity.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';

/** One look at one login, as a session for decisions that are shown and never carried out. */
export interface LookedAt {
  readonly account: MarketplaceAccount;
  readonly client: MarketplaceClient;
  readonly identity: Identity;
  readonly userId: number;
  readonly baseUrl: string;
  readonly list: CompleteList;
  readonly sshKeyRegistered: boolean | undefined;
  readonly now: number;
}

/** A session over one complete list. Its tickets refuse and nothing it is told is kept: it cannot spend. */
export function staticSession(looked: LookedAt): AccountSession {
  const { account, client, identity, userId, baseUrl, sshKeyRegistered, now } = looked;
  return {
    ref: { namespace: account.metadata.namespace ?? '', name: account.metadata.name },
    uid: uidOf(account),
    login: account.status?.login ?? { url: baseUrl, userId },
    identity,
    client,
    feed: staticFeed(looked),
    avoid: { current: () => avoidedAt(avoidOf(account), now), add() {} },
    tickets: {
      request: () => NOT_HERE,
      requestStart: () => NOT_HERE,
      reservedFor: () => new Set(),
    },
    limits: () => limitsOf(account),
    pollIntervalMs: () => pollIntervalOf(account, 0),
    serviceTime: () => ({ type: 'unknown' }),
    breaker: () => breakerOf(account),
    labelEcho: () => echoOf(account.status?.labelsEchoed),
    labelReadBack() {},
    permits: (namespace) =>
      account.spec.allowedNamespaces.from !== 'Same' || namespace === account.metadata.namespace,
    adoption: () => account.spec.adoption,
    sshKeyRegistered: () => sshKeyRegistered,
    proveLogin: async () => userId === (account.status?.login?.userId ?? userId),
    searchOffers: (query) => client.offers.search(query),
  };
}

const NOT_HERE = {
  type: 'refused',
  reason: 'Pacing',
  message: 'This is only shown, never carried out.',
  retryAfterMs: 0,
} as const;

function staticFeed({ list, client }: LookedAt): Feed {
  return {
    start() {},
    stop() {},
    latest: () => list,
    absences: (id) => (list.rows.has(id) ? [] : [list.begunAt]),
    listsBegunSince: (time) => (list.begunAt >= time ? [list.begunAt] : []),
    lookNow() {},
    get: (id) => client.instances.get(id),
    subscribe: () => () => {},
    health: () => ({
      state: 'healthy',
      lastCompleteAt: list.endedAt,
      consecutiveFailures: 0,
      lastError: undefined,
      form: 'whole',
    }),
  };
}
