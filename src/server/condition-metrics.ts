import type { Clock } from '../lib/clock.ts';
import type { Condition, KubeObject } from '../runtime/kube/kube-object.ts';
import type { Change } from '../runtime/list-watch/object-store.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** An object whose status has conditions. */
export interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}

/** The part of an informer that metrics use. */
export interface ConditionSource {
  list(): readonly Conditioned[];
  onChange(listener: (change: Change<Conditioned>) => void): unknown;
}

/** Buckets from a second to a day, for the duration of conditions and terminations. */
const SPAN_BUCKETS = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];

/**
 * Exposes the families that Karpenter has for each kind, under `gpu_rental_<kind>_`: the number of objects in each
 * state of a condition, the age of each state, the number and timing of its changes, and the duration of deletions.
 */
export function watchConditions(
  registry: MetricRegistry,
  kind: string,
  options: { readonly source: ConditionSource; readonly clock: Clock },
): void {
  const { source, clock } = options;
  watchTransitions(registry, kind, source);
  watchTerminations(registry, kind, options);
  const count = registry.gauge({
    name: `gpu_rental_${kind}_status_condition_count`,
    help: `Objects of kind ${kind} by condition, status and reason.`,
    labelNames: ['type', 'status', 'reason'],
  });
  const seconds = registry.gauge({
    name: `gpu_rental_${kind}_status_condition_current_status_seconds`,
    help: 'Time for which a condition of an object has had its status.',
    labelNames: ['namespace', 'name', 'type', 'status', 'reason'],
  });
  registry.beforeExposition(() => {
    count.reset();
    seconds.reset();
    for (const { metadata, status } of source.list()) {
      for (const condition of status?.conditions ?? []) {
        const labels = { type: condition.type, status: condition.status, reason: condition.reason };
        count.inc(labels);
        const age = ageSeconds(condition.lastTransitionTime, clock.now());
        seconds.set({ ...labels, namespace: metadata.namespace ?? '', name: metadata.name }, age);
      }
    }
  });
}

function watchTransitions(registry: MetricRegistry, kind: string, source: ConditionSource): void {
  const transitions = registry.counter({
    name: `gpu_rental_${kind}_status_condition_transitions_total`,
    help: `Changes of the status of a condition of kind ${kind}.`,
    labelNames: ['type', 'status', 'reason'],
  });
  const spans = registry.histogram(
    {
      name: `gpu_rental_${kind}_status_condition_transition_seconds`,
      help: 'Time for which a condition had a status before it changed.',
      labelNames: ['type', 'status'],
    },
    SPAN_BUCKETS,
  );
  source.onChange((change) => {
    if (change.type !== 'updated') return;
    const before = new Map(
      change.previous.status?.conditions?.map((condition) => [condition.type, condition]),
    );
    for (const condition of change.object.status?.conditions ?? []) {
      const previous = before.get(condition.type);
      if (!previous || previous.status === condition.status) continue;
      transitions.inc({ type: condition.type, status: condition.status, reason: condition.reason });
      const span = ageSeconds(previous.lastTransitionTime, Date.parse(condition.lastTransitionTime));
      spans.observe({ type: condition.type, status: previous.status }, span);
    }
  });
}

function watchTerminations(
  registry: MetricRegistry,
  kind: string,
  { source, clock }: { readonly source: ConditionSource; readonly clock: Clock },
): void {
  const current = registry.gauge({
    name: `gpu_rental_${kind}_termination_current_time_seconds`,
    help: 'Time since the deletion of an object was requested.',
    labelNames: ['namespace', 'name'],
  });
  const durations = registry.histogram(
    {
      name: `gpu_rental_${kind}_termination_duration_seconds`,
      help: 'Time from the request to delete an object until it was deleted.',
      labelNames: [],
    },
    SPAN_BUCKETS,
  );
  source.onChange((change) => {
    const since = change.type === 'deleted' ? change.object.metadata.deletionTimestamp : undefined;
    if (since !== undefined) durations.observe(ageSeconds(since, clock.now()));
  });
  registry.beforeExposition(() => {
    current.reset();
    for (const { metadata } of source.list()) {
      if (metadata.deletionTimestamp === undefined) continue;
      const labels = { namespace: metadata.namespace ?? '', name: metadata.name };
      current.set(labels, ageSeconds(metadata.deletionTimestamp, clock.now()));
    }
  });
}

function ageSeconds(timestamp: string, now: number): number {
  const since = Date.parse(timestamp);
  return Number.isFinite(since) ? Math.max(0, (now - since) / 1000) : 0;
}
