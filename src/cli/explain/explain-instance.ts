import { avoidedAt, avoidOf } from '../../accounts/avoid-list.ts';
import { breakerOf } from '../../accounts/breaker.ts';
import { echoOf } from '../../accounts/feed-observer.ts';
import { limitsOf } from '../../accounts/spend-limits.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import {
  type AccountFacts,
  type Decision,
  type Explained,
  explainInstance,
  failedSearch,
  type OffersView,
  type OtherObjects,
  type Reader,
  readInputs,
} from '../../controllers/gpu-instance/public.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { systemClock } from '../../lib/clock.ts';
import type { MicroDollars } from '../../lib/money.ts';
import { systemRandom } from '../../lib/random.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { CompleteList } from '../../marketplace/feed/feed-state.ts';
import type { OfferQuery } from '../../marketplace/offers/offers.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { type Login, loginText } from '../../ownership/login.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { failed } from '../failures/command-error.ts';
import { WORDS_BY_KIND } from '../failures/describe-failure.ts';
import { accountGate, lasting, mayUse } from '../limits.ts';

/** An account and its login, read once. */
export interface AccountReading {
  readonly account: MarketplaceAccount;
  readonly client: MarketplaceClient;
  readonly identity: Identity;
  readonly userId: string;
  readonly baseUrl: string;
  readonly list: CompleteList;
  readonly sshKeyRegistered: boolean | undefined;
  /** Undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
  /** GpuInstances that name the account. */
  readonly objects: readonly GpuInstance[];
  readonly now: number;
}

/** An object with what is around it in the cluster. */
export interface InstanceReading {
  readonly object: GpuInstance;
  /** The GpuInstances of its namespace. */
  readonly others: readonly GpuInstance[];
  /** The times that the operator runs with. */
  readonly constants: PurchaseConstants;
}

/**
 * Runs the operator's decision on one object with the limits of its account. Rejects if a read of the cluster fails, or
 * a search of offers in a way that only concerns this call.
 */
export function explainWithLimits(
  { object, others, constants }: InstanceReading,
  reading: AccountReading,
  kube: KubeClient,
): Promise<Explained> {
  const { account, identity, list } = reading;
  const { namespace = '' } = object.metadata;
  return explainInstance(object, {
    clock: systemClock,
    random: systemRandom,
    identity,
    constants,
    account: accountFacts(object, reading),
    list,
    isAllowed: accountRefOf(object).namespace === namespace || mayUse(account, namespace),
    others: othersAmong(others, reading),
    reader: readerOf(reading, kube),
    refusalOf: (decision) => refusalOf(decision, object, reading),
  });
}

function accountFacts({ metadata }: GpuInstance, reading: AccountReading): AccountFacts {
  const { account, now, sshKeyRegistered } = reading;
  const breaker = breakerOf(account);
  return {
    login: loginOf(reading),
    limits: limitsOf(account),
    breaker,
    openSpans: [],
    countsHostFailures: breaker.type === 'closed',
    labelEcho: echoOf(account.status?.labelsEchoed),
    permitted: mayUse(account, metadata.namespace ?? ''),
    adoption: account.spec.adoption,
    mayDestroy: true,
    sshKeyRegistered,
    avoided: avoidedAt(avoidOf(account), now),
    reserved: accountGate(reading).reservedFor(metadata.uid ?? ''),
    serviceTime: { type: 'unknown' },
    startUnsupported: false,
  };
}

function loginOf({ account, baseUrl, userId }: AccountReading): Login {
  return account.status?.login ?? { url: baseUrl, userId };
}

/** Only the login of the object's own account is known. */
function othersAmong(all: readonly GpuInstance[], reading: AccountReading): OtherObjects {
  const { namespace, name } = reading.account.metadata;
  const login = loginText(loginOf(reading));
  return {
    all: () => all,
    recording: (id) => all.filter(({ status }) => status?.instanceId === id),
    adopting: (id) => all.filter(({ spec }) => spec.adopt?.instanceId === id),
    loginOf: (object) => {
      const ref = accountRefOf(object);
      return ref.namespace === namespace && ref.name === name ? login : undefined;
    },
  };
}

/** Asks the cluster and the marketplace directly: nothing waits in a queue here. */
function readerOf({ account, client, userId }: AccountReading, kube: KubeClient): Reader {
  return {
    inputs: ({ object }) => readInputs(object, kube),
    offers: (_observed, { queries: [query] }) => searchOffers(client, query),
    machine: (instanceId) => client.instances.get(instanceId),
    proveLogin: async () => userId === (account.status?.login?.userId ?? userId),
  };
}

/** What only says that our own call found no way at this moment: another key and another moment are the operator's. */
const OF_THE_MOMENT: ReadonlySet<string> = new Set(['throttled', 'quotaExceeded', 'unavailable', 'timeout']);

/** Rejects if nothing can be said of what the operator would find. */
async function searchOffers(client: MarketplaceClient, query: OfferQuery): Promise<OffersView> {
  try {
    return { type: 'found', offers: await client.offers.search(query) };
  } catch (error) {
    if (!(error instanceof MarketplaceError) || !OF_THE_MOMENT.has(error.kind)) return failedSearch(error);
    throw failed(
      `The search of offers failed (${WORDS_BY_KIND[error.kind]}), so the operator's decision is unknown.`,
      'Try again in a minute; gpu-rent status shows what the operator reported last.',
      error,
    );
  }
}

/** What the account would answer to the purchase or start that was decided; undefined if it has room. */
function refusalOf({ record, actions }: Decision, object: GpuInstance, reading: AccountReading) {
  const admission = accountGate(reading);
  const objectUid = uidOf(object);
  const start = actions.find((action) => action.type === 'start');
  if (record.type === 'intent') {
    const { offer, pricePerHour } = record.purchase;
    const request = { namespace: '', generation: 0, wake() {}, objectUid, offerId: offer.id, pricePerHour };
    return lasting(admission.request(request));
  }
  return (
    start && lasting(admission.requestStart({ objectUid, pricePerHour: start.pricePerHour, timeoutMs: 0 }))
  );
}
