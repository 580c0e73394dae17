import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { type InstanceSummary, summarize } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { KeyRing } from '../ownership/key-ring.ts';

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
