import { stringify } from 'yaml';

/** Returns the manifests that a user commits for a namespace with its own login at the marketplace. */
export const loginOf = (namespace: string, apiKey: string): readonly object[] => [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'marketplace-key', namespace },
    stringData: { 'api-key': apiKey },
  },
  {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'MarketplaceAccount',
    metadata: { name: 'default', namespace },
    spec: { apiKeySecretRef: { name: 'marketplace-key' }, pollInterval: '2s' },
  },
];

/** The highest price at which the marketplace offers what machines ask for. */
export const RENTABLE = '0.80';
/** A price at which it offers nothing. */
export const UNRENTABLE = '0.01';

export const machineOf = (
  namespace: string,
  name: string,
  maxPricePerHour: string = RENTABLE,
  annotations: Readonly<Record<string, string>> = {},
): object => ({
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'GpuInstance',
  metadata: { name, namespace, annotations },
  spec: { image: 'ubuntu:24.04', offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour }] },
});

/** Returns the text of a file with these objects. */
export const fileOf = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');
