import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { type InstanceSummary, summarize } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
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
  return objects.filter(({ key, claim, hasProvenIntent }) => {
    const namespace = key.slice(0, key.indexOf('/'));
    const isPermitted = known.get(namespace) ?? permits(namespace);
    known.set(namespace, isPermitted);
    if (isPermitted || hasProvenIntent) return true;
    return (
      claim !== undefined && login !== undefined && claimVerifies(keys, { ...claim, login }, claim.claim)
    );
  });
}

interface Kept {
  readonly view: InstanceSummary;
  /** On `clock.now()`: what was spent this month moves on. */
  readonly madeAt: number;
  readonly keys: KeyRing | undefined;
}

/** Money that moves by itself may be this old in a sum. */
const KEPT_MS = 10_000;

/**
 * What accounts need to know of objects, worked out once per version of an object: limits are asked at each
 * rental, and a thousand objects are many at each of a thousand rentals.
 */
export class SummaryCache {
  readonly #clock: Clock;
  readonly #keys: () => KeyRing | undefined;
  readonly #byObject = new WeakMap<GpuInstance, Kept>();

  /** `keys`: of the installation, as soon as it knows them. */
  constructor(clock: Clock, keys: () => KeyRing | undefined) {
    this.#clock = clock;
    this.#keys = keys;
  }

  of(instance: GpuInstance): InstanceSummary {
    const now = this.#clock.now();
    const keys = this.#keys();
    const kept = this.#byObject.get(instance);
    if (kept && kept.keys === keys && Math.abs(now - kept.madeAt) < KEPT_MS) return kept.view;
    const view = summarize(instance, now, keys);
    this.#byObject.set(instance, { view, madeAt: now, keys });
    return view;
  }
}
