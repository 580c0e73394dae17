import type { InstanceSummary } from '../instance/summary.ts';
import { claimVerifies } from '../ownership/claim.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import type { Login } from '../ownership/login.ts';

/** What tells whether an object counts for an account. */
export interface Counting {
  /** Whether the account may be used from that namespace. */
  readonly permits: (namespace: string) => boolean;
  /** Undefined while no identity is known: then nobody can tell, and all count. */
  readonly keys: KeyRing | undefined;
  readonly login: Login | undefined;
}

/**
 * The objects, of those that name an account, that it rents for, or did: anyone may name any account. Who has
 * rented counts as long as it is there, also where its namespace is not permitted any more.
 */
export function countedObjects(
  objects: readonly InstanceSummary[],
  { permits, keys, login }: Counting,
): readonly InstanceSummary[] {
  if (keys === undefined) return objects;
  const known = new Map<string, boolean>();
  const isPermitted = (namespace: string) => {
    const permitted = known.get(namespace) ?? permits(namespace);
    known.set(namespace, permitted);
    return permitted;
  };
  return objects.filter((object) => isPermitted(namespaceOf(object)) || hasRented(object, keys, login));
}

function namespaceOf({ key }: InstanceSummary): string {
  return key.slice(0, key.indexOf('/'));
}

function hasRented(
  { claim, hasProvenIntent }: InstanceSummary,
  keys: KeyRing,
  login: Login | undefined,
): boolean {
  if (hasProvenIntent) return true;
  return claim !== undefined && login !== undefined && claimVerifies(keys, { ...claim, login }, claim.claim);
}
