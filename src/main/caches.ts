import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import {
  endpointGroupResource,
  gpuInstanceResource,
  INSTALL_DEFINITIONS,
  marketplaceAccountResource,
  spendBudgetResource,
} from '../api/v1alpha1/names.ts';
import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import { OWNED_BY_GROUP } from '../controllers/endpoint-group/workers/worker.ts';
import { machineIndexes } from '../controllers/gpu-instance/observe.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { type KubeObject, objectKey, type Resource, refOfKey } from '../runtime/kube/kube-object.ts';
import { createInformer, type Informer } from '../runtime/list-watch/informer.ts';
import type { InformerMetrics } from '../runtime/metrics-ports.ts';
import { ownedIndexes } from '../runtime/owned-objects.ts';
import { keptAccount, keptBudget, keptGroup, keptInstance } from './kept-objects.ts';

/** Dependencies of the caches. */
export interface CacheOptions {
  readonly client: KubeClient;
  /** Watched namespaces; empty: all. */
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: InformerMetrics;
}

/** Local copies of the kinds that this operator serves. */
export interface Caches {
  readonly accounts: Informer<MarketplaceAccount>;
  readonly instances: Informer<GpuInstance>;
  readonly groups: Informer<EndpointGroup>;
  readonly budgets: Informer<SpendBudget>;
}

/** The kinds that this operator serves. A read without a cache must return the same shape. */
export const KEPT = {
  accounts: { resource: marketplaceAccountResource, keep: keptAccount },
  instances: { resource: gpuInstanceResource, keep: keptInstance },
  groups: { resource: endpointGroupResource, keep: keptGroup },
  budgets: { resource: spendBudgetResource, keep: keptBudget },
} as const;

/** The index of a cache: objects by their namespace. */
export const BY_NAMESPACE = 'namespace';
const byNamespace = {
  [BY_NAMESPACE]: ({ metadata }: SpendBudget) => [metadata.namespace ?? ''],
};

export function createCaches(options: CacheOptions): Caches {
  return {
    accounts: cacheOf(options, KEPT.accounts, {}),
    instances: cacheOf(options, KEPT.instances, {
      ...ownedIndexes(OWNED_BY_GROUP),
      ...machineIndexes,
    }),
    groups: cacheOf(options, KEPT.groups, {}),
    budgets: cacheOf(options, KEPT.budgets, byNamespace),
  };
}

/** A kind, and the part of its objects that the cache keeps. */
export interface KeptKind<T> {
  readonly resource: Resource;
  readonly keep: (object: T) => T;
}

/** Returns one informer for all namespaces, or one for each named namespace. */
export function cacheOf<T>(
  options: CacheOptions,
  { resource, keep }: KeptKind<T>,
  indexes: Readonly<Record<string, (object: T) => readonly string[]>>,
): Informer<T> {
  const { namespaces, ...common } = options;
  // The API server has checked the object against the CRD's schema.
  const project = (object: KubeObject) => keep(object as T);
  const create = (namespace: string | undefined) =>
    createInformer<T>({
      ...common,
      resource,
      namespace,
      project,
      indexes,
      remedyIfUnserved: `The CRDs are not installed. ${INSTALL_DEFINITIONS}`,
    });
  if (namespaces.length === 0) return create(undefined);
  return combineInformers(new Map(namespaces.map((namespace) => [namespace, create(namespace)])));
}

/**
 * Returns several informers of one kind, one for each namespace, as one informer: an operator of named namespaces may
 * be unable to list all of them together.
 */
export function combineInformers<T>(byNamespace: ReadonlyMap<string, Informer<T>>): Informer<T> {
  const all = [...byNamespace.values()];
  const first = all[0]?.name ?? 'nothing';
  const owner = (key: string) => byNamespace.get(refOfKey(key).namespace ?? '');
  return {
    name: all.length > 1 ? `${first} and ${all.length - 1} more` : first,
    start() {
      for (const informer of all) informer.start();
    },
    stop: async () => {
      await Promise.all(all.map((informer) => informer.stop()));
    },
    synced: Promise.all(all.map((informer) => informer.synced)).then(() => {}),
    hasSynced: () => all.every((informer) => informer.hasSynced()),
    get: (key) => owner(key)?.get(key),
    list: () => all.flatMap((informer) => informer.list()),
    byIndex: (index, value) => all.flatMap((informer) => informer.byIndex(index, value)),
    onChange: (listener) => {
      const ways = all.map((informer) => informer.onChange(listener));
      return () => {
        for (const leave of ways) leave();
      };
    },
    keep(object: KubeObject) {
      if (!all[0]) throw new TypeError('There is no informer to keep objects');
      return all[0].keep(object);
    },
    wrote: (object: KubeObject) => owner(objectKey(object.metadata))?.wrote(object),
    isCurrent: (key) => owner(key)?.isCurrent(key) ?? true,
    health: () => worstOf(all.map((informer) => informer.health())),
  };
}

type Health = ReturnType<Informer<unknown>['health']>;

function worstOf(healths: readonly Health[]): Health {
  const contacts = healths.map((health) => health.lastContactAt);
  const known = contacts.filter((at) => at !== undefined);
  return {
    lastContactAt: known.length < contacts.length ? undefined : Math.min(...known),
    divergences: healths.reduce((sum, health) => sum + health.divergences, 0),
    rewoundSince: healths.find((health) => health.rewoundSince !== undefined)?.rewoundSince,
    failure: healths.find((health) => health.failure !== undefined)?.failure,
  };
}
