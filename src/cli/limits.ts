import { type AccountObjects, countedObjects, listedObjects } from '../accounts/account-objects.ts';
import {
  Admission,
  type AdmissionOptions,
  type StartDecision,
  type TicketDecision,
  type TicketRefusal,
  type TicketRequest,
} from '../accounts/admission.ts';
import { OfferReservations } from '../accounts/pending-rentals.ts';
import {
  type AccountSums,
  type BesideRecords,
  deletedSumsOf,
  limitsOf,
  sumAccount,
} from '../accounts/spend-limits.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { accountRefOf } from '../instance/account-ref.ts';
import { monthName } from '../instance/cost.ts';
import { summarize } from '../instance/summary.ts';
import { systemClock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { Identity } from '../ownership/identity.ts';
import { isKubeError } from '../runtime/kube/kube-error.ts';
import { listInstances } from './objects/cluster-objects.ts';
import type { ClusterSession } from './sessions/cluster-session.ts';

/** Facts for the limits of an account. */
interface GateFacts {
  readonly account: MarketplaceAccount;
  /** GpuInstances that name it. */
  readonly objects: readonly GpuInstance[];
  /** Undefined if the caller may not read it: then every intent and claim counts. */
  readonly identity: Identity | undefined;
  /** Undefined if unknown. */
  readonly credit: MicroDollars | undefined;
  /** The budgets of namespaces; undefined without a cluster. */
  readonly budgets?: AdmissionOptions['budgets'] | undefined;
}

const NO_BUDGETS: AdmissionOptions['budgets'] = { refusal: () => undefined };

/** The operator's own limits are flags of its process, which are not visible here. */
const NO_CEILINGS = {
  maxRentalsPerHour: Number.POSITIVE_INFINITY,
  maxLiveMachines: Number.POSITIVE_INFINITY,
  maxDollarsPerHour: Number.POSITIVE_INFINITY,
};

/** Conditions that change within moments are ignored here. */
const OPEN_QUEUE = {
  takeSlot: () => ({ endpointClass: 'rent' as const, expiresAt: Number.POSITIVE_INFINITY, release() {} }),
  slotEnded() {},
};

/**
 * Returns the operator's admission of purchases, over the present state of the cluster. Its tickets are never used.
 * Conditions that change within seconds (the rate limit, the queue) are ignored.
 */
export function accountGate(facts: GateFacts): Admission {
  const clock = systemClock;
  return new Admission({
    clock,
    budgets: facts.budgets ?? NO_BUDGETS,
    queue: OPEN_QUEUE,
    reservations: new OfferReservations(clock),
    settings: NO_CEILINGS,
    limits: () => limitsOf(facts.account),
    refusal: () => undefined,
    isSuspended: () => facts.account.spec.suspend === true,
    labelEcho: () => 'echoed',
    isLoginRenting: () => false,
    objects: () => viewsOf(facts, clock.now()),
    sums: (objects, beside) => sumsOf(facts, objects, beside),
  });
}

function viewsOf({ account, objects, identity }: GateFacts, now: number): AccountObjects {
  const keys = identity?.keys;
  const views = objects.map((object) => summarize(object, now, keys));
  const permits = (namespace: string) => mayUse(account, namespace);
  return listedObjects(countedObjects(views, { permits, keys, login: account.status?.login }));
}

function sumsOf(
  { account, credit }: GateFacts,
  counted: AccountObjects,
  { instead, pending }: BesideRecords,
): AccountSums {
  const now = systemClock.now();
  const objects = counted.sums(now, instead);
  const deleted = deletedSumsOf(account);
  return sumAccount({ objects, pending, deleted, credit, now, month: monthName(now) });
}

/** Admits every namespace that a selector may match: labels are not read. */
export function mayUse({ spec, metadata }: MarketplaceAccount, namespace: string): boolean {
  return spec.allowedNamespaces.from !== 'Same' || namespace === metadata.namespace;
}

/** GpuInstances that an account's limits count. */
interface CountedInstances {
  readonly instances: readonly GpuInstance[];
  readonly isWhole: boolean;
  /** Limits that were only partly checked, with the reason; undefined if there are none. */
  readonly missing: string | undefined;
}

/** Limits that are sums over objects, and so need all of them. */
const SUMS = ['maxInstances', 'maxSpendPerHour', 'maxSpendPerMonth'] as const;

/**
 * Returns the GpuInstances that name an account, as far as the caller may list them. Rejects with a KubeError other
 * than `forbidden`.
 */
export async function countedInstances(
  cluster: ClusterSession,
  account: MarketplaceAccount,
): Promise<CountedInstances> {
  const { namespace, name } = account.metadata;
  const isShared = account.spec.allowedNamespaces.from !== 'Same';
  const [widest, own] = isShared ? [undefined, namespace] : [namespace, namespace];
  const all = await permittedInstances(cluster, widest);
  const some = all ?? (isShared ? await permittedInstances(cluster, own) : undefined);
  const instances = (some ?? []).filter((instance) => {
    const ref = accountRefOf(instance);
    return ref.namespace === namespace && ref.name === name;
  });
  const isWhole = all !== undefined;
  return { instances, isWhole, missing: isWhole ? undefined : missingOf(account, some !== undefined) };
}

/** Returns the objects; undefined if the caller may not list them. Rejects with any other KubeError. */
export async function permittedInstances(
  cluster: ClusterSession,
  namespace: string | undefined,
): Promise<readonly GpuInstance[] | undefined> {
  try {
    return await listInstances(cluster, namespace);
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return undefined;
    throw error;
  }
}

function missingOf({ spec, metadata }: MarketplaceAccount, countsOwn: boolean): string | undefined {
  const limits = SUMS.filter((limit) => spec.limits[limit] !== undefined).map((limit) => `limits.${limit}`);
  if (limits.length === 0) return undefined;
  const names = limits.join(', ');
  return countsOwn
    ? `${names} count namespace ${metadata.namespace} alone: you may not list gpuinstances of all namespaces`
    : `${names} are not considered: you may not list gpuinstances`;
}

/** Reason why an account has no room, unless it changes within seconds. */
export interface LastingRefusal {
  readonly reason: Exclude<TicketRefusal, 'Queued' | 'OfferReserved'>;
  readonly message: string;
  readonly retryAfterMs: number;
}

/** Returns a request for room that does not wait: no callback follows. */
export function rentalRequest({ namespace = '', ...rental }: Rental): TicketRequest {
  return { ...rental, namespace, generation: 0, wake() {} };
}

type Rental = Pick<TicketRequest, 'objectUid' | 'offerId' | 'pricePerHour'> & {
  readonly namespace?: string | undefined;
};

/** Returns the refusal of an account; undefined if it has room, or will have within seconds. */
export function lasting(answer: TicketDecision | StartDecision): LastingRefusal | undefined {
  if (answer.type !== 'refused') return undefined;
  const { reason, message, retryAfterMs } = answer;
  if (reason === 'Queued' || reason === 'OfferReserved') return undefined;
  return { reason, message, retryAfterMs };
}
