import type { GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { formatTime, parseTime } from '../lib/time.ts';

/** Scope of an avoidance after a failure: one offer, one machine, or all machines of a host. */
export type AvoidTarget =
  | { readonly type: 'offer'; readonly id: string }
  | { readonly type: 'machine'; readonly id: string }
  | { readonly type: 'host'; readonly id: string };

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const SPANS: Readonly<Record<AvoidTarget['type'], { readonly firstMs: number; readonly mostMs: number }>> = {
  offer: { firstMs: 10 * MINUTE, mostMs: 10 * MINUTE },
  machine: { firstMs: HOUR, mostMs: 24 * HOUR },
  host: { firstMs: 24 * HOUR, mostMs: 7 * 24 * HOUR },
};

/**
 * Returns the milliseconds for which a target is avoided after `failures` failures. Each failure doubles the span, up
 * to a maximum.
 */
export function avoidSpanMs(type: AvoidTarget['type'], failures: number): number {
  const { firstMs, mostMs } = SPANS[type];
  return Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 16));
}

/** Maximum number of entries in the status of an object. */
const MAX_AVOIDED = 64;

type Avoided = NonNullable<GpuInstanceStatus['avoid']>;

/**
 * Returns the avoid list of an object after one more failure at `now` (epoch milliseconds), without entries that are
 * over. An object counts no failures: each avoids its target for the first span. Offers are not on record.
 */
export function withAvoided(
  avoid: GpuInstanceStatus['avoid'],
  target: AvoidTarget | undefined,
  now: number,
): Avoided {
  const inForce = (avoid ?? []).filter((entry) => (parseTime(entry.until) ?? 0) > now);
  if (!target || target.type === 'offer') return inForce;
  const kind = target.type === 'host' ? ('Host' as const) : ('Machine' as const);
  const others = inForce.filter((entry) => entry.kind !== kind || entry.id !== target.id);
  const entry = { kind, id: target.id, until: formatTime(now + avoidSpanMs(target.type, 1)) };
  return [...others, entry].slice(-MAX_AVOIDED);
}
