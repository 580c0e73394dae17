import type { JsonObject } from '../memory-kube/json.ts';
import type { Plural } from './operations.ts';

/** API path of each kind. */
export const GROUPS: Readonly<Record<Plural, string>> = {
  gpuinstances: '/apis/gpurental.dev/v1alpha1',
  endpointgroups: '/apis/gpurental.dev/v1alpha1',
  marketplaceaccounts: '/apis/gpurental.dev/v1alpha1',
  leases: '/apis/coordination.k8s.io/v1',
  secrets: '/api/v1',
  configmaps: '/api/v1',
};

export const KINDS: Readonly<Record<Plural, string>> = {
  gpuinstances: 'GpuInstance',
  endpointgroups: 'EndpointGroup',
  marketplaceaccounts: 'MarketplaceAccount',
  leases: 'Lease',
  secrets: 'Secret',
  configmaps: 'ConfigMap',
};

export const collectionOf = (plural: Plural, namespace: string): string =>
  `${GROUPS[plural]}/namespaces/${namespace}/${plural}`;

const INSTANCE: JsonObject = { image: 'example/a:1', offers: [{ maxPricePerHour: '0.50' }] };

/** Minimal valid contents of each kind. */
export const VALID: Readonly<Record<Plural, JsonObject>> = {
  gpuinstances: { spec: INSTANCE },
  endpointgroups: { spec: { template: { spec: INSTANCE } } },
  marketplaceaccounts: { spec: { apiKeySecretRef: { name: 'key' } } },
  leases: { spec: { holderIdentity: 'x' } },
  secrets: {},
  configmaps: {},
};
