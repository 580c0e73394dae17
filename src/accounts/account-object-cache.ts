import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { Clock } from '../lib/clock.ts';
import { type AccountObject, accountObject } from './account-object.ts';

interface Kept {
  readonly view: AccountObject;
  /** On `clock.now()`: what was spent this month moves on. */
  readonly madeAt: number;
}

/** Money that moves by itself may be this old in a sum. */
const KEPT_MS = 10_000;

/**
 * What accounts need to know of objects, worked out once per version of an object: limits are asked at each
 * rental, and a thousand objects are many at each of a thousand rentals.
 */
export class AccountObjectCache {
  readonly #clock: Clock;
  readonly #byObject = new WeakMap<GpuInstance, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(instance: GpuInstance): AccountObject {
    const now = this.#clock.now();
    const kept = this.#byObject.get(instance);
    if (kept && Math.abs(now - kept.madeAt) < KEPT_MS) return kept.view;
    const view = accountObject(instance, now);
    this.#byObject.set(instance, { view, madeAt: now });
    return view;
  }
}
