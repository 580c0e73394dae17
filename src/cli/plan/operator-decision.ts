import type { Admission } from '../../accounts/admission.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { type MarketplaceAccount, marketplaceAccountSpec } from '../../api/v1alpha1/marketplace-account.ts';
import { API_VERSION, annotations } from '../../api/v1alpha1/names.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { AccountFacts, Decision } from '../../controllers/gpu-instance/public.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { formatTime } from '../../lib/time.ts';
import type { CompleteList } from '../../market/feed-state.ts';
import { type Identity, newIdentity } from '../../ownership/identity.ts';
import { type AccountReading, explainWithLimits, type readLogin } from '../explain/explain-instance.ts';
import { type LastingRefusal, lasting, rentalRequest } from '../limits.ts';
import type { Surroundings } from './cluster-view.ts';
import type { Applied } from './dry-run.ts';
import type { PlannedObject } from './manifests.ts';

type Purchase = Extract<Decision['record'], { type: 'intent' }>['purchase'];

/** The operator's decision on an object that has no machine yet. */
export interface PlannedDecision {
  readonly account: AccountFacts;
  /** The purchase before the request for admission; undefined if nothing would be rented. */
  readonly purchase: Purchase | undefined;
  /** Undefined if the purchase has room. */
  readonly refusal: { readonly reason: Reason; readonly detail: string } | undefined;
  readonly unchecked: readonly string[];
}

/** Subject of the decision: the manifest, and the object that the API server would store if it evaluated it. */
interface Asked {
  readonly planned: PlannedObject;
  readonly applied: Applied | undefined;
}

/**
 * Explains a planned object as if it existed and had no machine. Its rental counts for the account's limits when the
 * next object is planned. Rejects if a read of the cluster or the marketplace fails.
 */
export async function decidePlanned(
  { planned, applied }: Asked,
  surroundings: Surroundings,
  login: Awaited<ReturnType<typeof readLogin>>,
): Promise<PlannedDecision> {
  const { kube, objects, constants, identity = throwaway(), gate } = surroundings;
  const seen = applied ? unrented(applied.after) : instanceOf(planned);
  const object = surroundings.identity ? seen : withoutIntent(seen);
  const account = surroundings.account ?? unlimited(object);
  const list = without(login.list, applied?.after.status);
  const reading: AccountReading = { account, objects, identity, ...login, list };
  let purchase: Purchase | undefined;
  const refuses = ({ record }: Decision) => {
    if (record.type !== 'intent') return undefined;
    purchase = record.purchase;
    return gate && refusalBy(gate, planned, record.purchase);
  };
  const explained = await explainWithLimits({ object, others: objects, constants }, reading, {
    kube,
    refuses,
  });
  const { decision, unchecked } = explained;
  const ready = decision.status?.verdict.Ready;
  const isRefused = decision.record.type !== 'intent' && ready !== undefined;
  const refusal = isRefused ? { reason: ready.reason, detail: ready.message } : undefined;
  return { account: explained.account, purchase, unchecked, refusal };
}

/**
 * Returns the reason why the account has no room; undefined if it has. A purchase with room counts for the next
 * objects.
 */
function refusalBy(
  gate: Pick<Admission, 'request'>,
  { object, namespace }: PlannedObject,
  { offer, pricePerHour }: Purchase,
): LastingRefusal | undefined {
  const objectUid = `planned ${namespace}/${object}`;
  const ticket = gate.request(rentalRequest({ objectUid, namespace, offerId: offer.id, pricePerHour }));
  if (ticket.type !== 'ticket') return lasting(ticket);
  ticket.use();
  ticket.settle({ rented: true });
  return undefined;
}

/**
 * Returns the object, or a worker of the group, without its machine, since another one is planned. An object that does
 * not exist yet gets a uid.
 */
function unrented(after: Applied['after']): GpuInstance {
  const uid = after.metadata.uid ?? systemRandom.uuid();
  if (after.kind === 'EndpointGroup') return workerOf(after, uid);
  const { annotations: kept, ...metadata } = after.metadata;
  if (after.status?.instanceId !== undefined)
    return { ...after, metadata: { ...metadata, uid }, status: undefined };
  return { ...after, metadata: { ...metadata, annotations: kept, uid } };
}

/** Returns the object without its record of a purchase, whose signature only the operator's identity verifies. */
function withoutIntent(object: GpuInstance): GpuInstance {
  const { [annotations.rentalIntent]: _unverified, ...others } = object.metadata.annotations ?? {};
  return { ...object, metadata: { ...object.metadata, annotations: others } };
}

function workerOf({ apiVersion, metadata, spec }: EndpointGroup, uid: string): GpuInstance {
  const { namespace, creationTimestamp } = metadata;
  return {
    apiVersion,
    kind: 'GpuInstance',
    metadata: { uid, namespace, creationTimestamp, name: `${metadata.name}-plan` },
    spec: spec.template.spec,
  };
}

/** Returns the object as an API server would create it now. */
function instanceOf({ manifest, namespace = '', spec }: PlannedObject): GpuInstance {
  const creationTimestamp = formatTime(systemClock.now());
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { uid: systemRandom.uuid(), namespace, creationTimestamp, name: manifest.metadata?.name ?? '' },
    spec,
  };
}

/** Returns an account without limits, in place of the one that the object names. */
function unlimited(object: GpuInstance): MarketplaceAccount {
  return {
    apiVersion: API_VERSION,
    kind: 'MarketplaceAccount',
    metadata: accountRefOf(object),
    spec: marketplaceAccountSpec.parse({
      apiKeySecretRef: { name: 'unknown' },
      allowedNamespaces: { from: 'All' },
    }),
  };
}

/** Returns the list without the machine of the object. */
function without(list: CompleteList, status: Applied['after']['status']): CompleteList {
  if (status === undefined || !('instanceId' in status)) return list;
  return { ...list, rows: new Map([...list.rows].filter(([id]) => id !== status.instanceId)) };
}

/** Returns an identity that proves nothing: an object without a machine needs no proof. */
function throwaway(): Identity {
  const bytes = (length: number) => systemRandom.bytes(length);
  return newIdentity({ id: bytes(16), key: bytes(32) }, { kubeSystemUid: undefined, scope: '*' });
}
