import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';

/** Namespace and name of a MarketplaceAccount. */
export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
}

/** Source of a reference: a whole GpuInstance, or the part of one that a plan has. */
interface Referrer {
  readonly spec: Pick<GpuInstance['spec'], 'accountRef'>;
  readonly metadata: Pick<GpuInstance['metadata'], 'namespace'>;
}

/** Returns the account that an object names. A reference without a namespace means the object's namespace. */
export function accountRefOf({ spec, metadata }: Referrer): AccountRef {
  return { namespace: spec.accountRef.namespace ?? metadata.namespace ?? '', name: spec.accountRef.name };
}

/** Returns namespace/name, the key of an account in caches, queues and messages. */
export function accountKey({ namespace, name }: AccountRef): string {
  return `${namespace}/${name}`;
}
