import type { Outage } from '../api/v1alpha1/outage.ts';
import type { Clock } from '../lib/clock.ts';
import { parseTime } from '../lib/time.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import type { Change } from '../runtime/list-watch/object-store.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** An object whose status records an outage of its service. */
interface Interrupted extends KubeObject {
  readonly status?: { readonly outage?: Outage | undefined } | undefined;
}

/** The part of an informer that metrics use. */
interface OutageSource {
  list(): readonly Interrupted[];
  onChange(listener: (change: Change<Interrupted>) => void): unknown;
}

/** Buckets from a second to a day. */
const BUCKETS = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];

/** Exposes the outages that objects of one kind have on record: number and duration, by cause and code. */
export function watchOutages(
  registry: MetricRegistry,
  kind: string,
  { source, clock }: { readonly source: OutageSource; readonly clock: Clock },
): void {
  const begun = registry.counter({
    name: `gpu_rental_${kind}_outages_total`,
    help: `Outages that began for objects of kind ${kind}, by cause and code.`,
    labelNames: ['reason', 'code'],
  });
  const lasted = registry.histogram(
    {
      name: `gpu_rental_${kind}_outage_duration_seconds`,
      help: 'Duration of outages that have ended.',
      labelNames: ['reason', 'code'],
    },
    BUCKETS,
  );
  const present = registry.gauge({
    name: `gpu_rental_${kind}_outage_seconds`,
    help: 'Duration of the current outage of an object; absent without one.',
    labelNames: ['namespace', 'name', 'reason', 'code'],
  });
  source.onChange((change) => {
    if (change.type !== 'updated') return;
    const before = change.previous.status?.outage;
    const now = change.object.status?.outage;
    if (now && now.since !== before?.since) begun.inc(labelsOf(now));
    if (before && !now) lasted.observe(labelsOf(before), secondsOf(before, clock.now()));
  });
  registry.beforeExposition(() => {
    present.reset();
    for (const { metadata, status } of source.list()) {
      if (!status?.outage) continue;
      const { namespace = '', name } = metadata;
      present.set({ namespace, name, ...labelsOf(status.outage) }, secondsOf(status.outage, clock.now()));
    }
  });
}

/** Returns the HTTP status, else the code of the connection error, else no code. */
function labelsOf({ reason, httpStatus, code }: Outage): { readonly reason: string; readonly code: string } {
  return { reason, code: httpStatus === undefined ? (code ?? '') : String(httpStatus) };
}

function secondsOf({ since }: Outage, now: number): number {
  return Math.max(0, (now - (parseTime(since) ?? now)) / 1000);
}
