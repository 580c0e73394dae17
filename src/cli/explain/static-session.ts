import { avoidedAt, avoidOf } from '../../accounts/avoid-list.ts';
import { breakerOf } from '../../accounts/breaker.ts';
import { echoOf } from '../../accounts/feed-observer.ts';
import type { SearchAnswer } from '../../accounts/queue/search-scheduler.ts';
import type { AccountSession, RentalQueue } from '../../accounts/session.ts';
import { limitsOf } from '../../accounts/spend-limits.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { Feed } from '../../marketplace/feed/feed.ts';
import type { CompleteList } from '../../marketplace/feed/feed-state.ts';
import type { Offer, OfferQuery } from '../../marketplace/offers/offers.ts';
import type { Identity } from '../../ownership/identity.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { failed } from '../failures/command-error.ts';
import { WORDS_BY_KIND } from '../failures/describe-failure.ts';
import { accountGate, mayUse } from '../limits.ts';

/** One look at one login, as a session for decisions that are shown and never carried out. */
export interface LookedAt {
  readonly account: MarketplaceAccount;
  readonly client: MarketplaceClient;
  readonly identity: Identity;
  readonly userId: number;
  readonly baseUrl: string;
  readonly list: CompleteList;
  readonly sshKeyRegistered: boolean | undefined;
  /** Undefined where the key may not read it. */
  readonly credit: MicroDollars | undefined;
  /** GpuInstances that name the account. */
  readonly objects: readonly GpuInstance[];
  readonly now: number;
}

/** A session over one complete list. What it is told is kept nowhere, and nobody acts on its tickets: it cannot spend. */
export function staticSession(looked: LookedAt): AccountSession {
  const { account, client, identity, userId, baseUrl, credit, sshKeyRegistered, now } = looked;
  return {
    ref: { namespace: account.metadata.namespace ?? '', name: account.metadata.name },
    uid: uidOf(account),
    login: account.status?.login ?? { url: baseUrl, userId },
    identity,
    client,
    feed: staticFeed(looked),
    avoid: { current: () => avoidedAt(avoidOf(account), now), add() {} },
    admission: accountGate(looked),
    limits: limitsOf(account),
    serviceClock: { now: () => ({ type: 'unknown' }) },
    observer: {
      breaker: breakerOf(account),
      openSpans: [],
      countsHostFailures: breakerOf(account).type === 'closed',
      labelEcho: echoOf(account.status?.labelsEchoed),
      labelReadBack() {},
    },
    permits: (namespace) => mayUse(account, namespace),
    adoption: () => account.spec.adoption,
    user: { credit, sshKeyRegistered, mayDestroy: true },
    proveLogin: async () => userId === (account.status?.login?.userId ?? userId),
    queue: staticQueue(client),
  };
}

/** Nothing waits here: each search is sent at once, and once. */
function staticQueue(client: MarketplaceClient): RentalQueue {
  const replies = new Map<OfferQuery, readonly Offer[] | { readonly error: unknown }>();
  const ask = (query: OfferQuery): SearchAnswer => {
    const reply = replies.get(query);
    if (!reply) return { type: 'queued', ended: search(query) };
    replies.delete(query);
    if ('error' in reply) return { type: 'failed', error: reply.error };
    return { type: 'found', offers: reply, isShared: false };
  };
  const search = (query: OfferQuery): Promise<void> =>
    client.offers
      .search(query)
      .catch(orOurs)
      .catch((error: unknown) => ({ error }))
      .then((reply) => {
        replies.set(query, reply);
      });
  return {
    offers: (_asker, { queries: [query] }) => ask(query),
    explain: (query) => ask(query),
    place: () => undefined,
    leave() {},
  };
}

/** What only says that our own call found no way at this moment: another key and another moment are the operator's. */
const OF_THE_MOMENT: ReadonlySet<string> = new Set(['throttled', 'quotaExceeded', 'unavailable', 'timeout']);

/** Such a failure ends the command: nothing can be said of what the operator would find. */
function orOurs(error: unknown): never {
  if (!(error instanceof MarketplaceError) || !OF_THE_MOMENT.has(error.kind)) throw error;
  throw failed(
    `The search of offers did not succeed from here (${WORDS_BY_KIND[error.kind]}), so what the operator would decide is not known.`,
    'Wait a little and try again; gpu-rent status tells what the operator said last.',
    error,
  );
}

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
