import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { deriveFacts } from '../../controllers/gpu-instance/facts.ts';
import { ObjectMemory, SteadyClock } from '../../controllers/gpu-instance/memory.ts';
import { observe } from '../../controllers/gpu-instance/observe.ts';
import {
  decideWithReads,
  failedSearch,
  type Reader,
  withPresentTime,
} from '../../controllers/gpu-instance/reads.ts';
import { readInputs } from '../../controllers/gpu-instance/rental-inputs.ts';
import { classify, type Stage } from '../../controllers/gpu-instance/stage.ts';
import type { Decision, Observed, OffersView } from '../../controllers/gpu-instance/types.ts';
import { systemClock } from '../../lib/clock.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { OfferQuery } from '../../marketplace/offers/offers.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { failed } from '../failures/command-error.ts';
import { WORDS_BY_KIND } from '../failures/describe-failure.ts';
import { accountGate, lasting } from '../limits.ts';
import { type AccountReading, type InstanceReading, snapshotOf } from './snapshot.ts';

/** What the operator would do with an object now, if it had seen what was seen here. */
export interface Explained {
  readonly stage: Stage;
  readonly decision: Decision;
  /** What the rule asked to see on the way, e.g. `offers`. */
  readonly reads: readonly string[];
}

/**
 * Runs the operator's own observe and decide on one object. Nothing is recorded and nothing is done. Rejects if a search
 * fails by what only concerns this call.
 */
export async function decideOnce(
  instance: InstanceReading,
  account: AccountReading,
  kube: KubeClient,
): Promise<Explained> {
  const { object } = instance;
  const steady = new SteadyClock(systemClock);
  const memory = new ObjectMemory();
  const decideNow = async (): Promise<Explained> => {
    const first = observe(object, snapshotOf(instance, account, steady), { memory, steady });
    const { observed, decision, reads } = await decideWithReads(first, {
      reader: readerOf(account, kube),
      refresh: (seen) => withPresentTime(seen, { clock: systemClock, steady, session: undefined }),
      publish: async (seen) => asPublished(seen),
    });
    return { stage: classify(deriveFacts(observed)), decision, reads };
  };
  const desired = await decideNow();
  const refusal = refusalOf(desired.decision, object, account);
  if (!refusal) return desired;
  const { reason, message: detail, retryAfterMs } = refusal;
  memory.refusedByAccount(steady.now(), retryAfterMs, { reason, detail });
  const refused = await decideNow();
  return { ...refused, reads: [...desired.reads, ...refused.reads] };
}

/** What the account would answer to the purchase or start that was decided; undefined if it has room. */
function refusalOf({ record, actions }: Decision, object: GpuInstance, account: AccountReading) {
  const admission = accountGate(account);
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

/** The children are taken as written: they are the operator's to write. */
function asPublished(observed: Observed): Observed {
  const bindingName = observed.object.status?.binding?.name ?? `${observed.object.metadata.name}-connection`;
  return { ...observed, published: { type: 'done', bindingName } };
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
      `The search of offers did not succeed from here (${WORDS_BY_KIND[error.kind]}), so what the operator would decide is not known.`,
      'Wait a little and try again; gpu-rent status tells what the operator said last.',
      error,
    );
  }
}
