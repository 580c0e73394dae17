import type { EndpointGroupCondition } from '../../api/v1alpha1/conditions.ts';
import type { EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { type Outage, outageCause, outageDuration, outageText } from '../../api/v1alpha1/outage.ts';
import { findCondition } from '../../runtime/conditions.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Refusal } from './types.ts';
import type { Worker } from './workers/worker.ts';

/** Conditions whose end is the loss of a service that the group needs, with the event of their return. */
const SERVICES: readonly { readonly type: EndpointGroupCondition; readonly restored: string }[] = [
  { type: 'MetricsAvailable', restored: 'Load figures arrive again' },
  { type: 'GatewayConnected', restored: 'Pickers of the gateway report again' },
  { type: 'EndpointsPublished', restored: 'The ConfigMap lists all ready workers again' },
];

/** The outage for which a worker that should be hot does not serve: of the first by name that has one on record. */
export function outageOfWorkers(workers: readonly Worker[]): Outage | undefined {
  return workers
    .filter(({ desiredRole, isServing, isDeleting }) => desiredRole === 'Hot' && !isServing && !isDeleting)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ object }) => object.status?.outage ?? [])
    .at(0);
}

/** One event for each service that a group has lost, or has again, by the status before and the one that is written. */
export function serviceEvents(
  before: EndpointGroupStatus | undefined,
  status: EndpointGroupStatus,
  now: number,
): readonly EventNote[] {
  return [...outageEvents(before?.outage, status.outage, now), ...conditionEvents(before, status, now)];
}

function outageEvents(
  before: Outage | undefined,
  outage: Outage | undefined,
  now: number,
): readonly EventNote[] {
  if (outage && outage.since !== before?.since)
    return [lost(outage.reason, `${outageText(outage, now)} Workers of the group wait for it.`)];
  if (!before || outage) return [];
  return [restored(`Service restored after ${outageDuration(before, now)}. Cause: ${outageCause(before)}.`)];
}

/** One event when Kubernetes begins to refuse writes that the group needs, and one when it refuses none any more. */
export function refusalEvents(before: readonly Refusal[], now: readonly Refusal[]): readonly EventNote[] {
  const [first] = now;
  if (first && before.length === 0) return [lost('NotPermitted', `${first.detail}.`)];
  if (first || before.length === 0) return [];
  return [restored(`Kubernetes refuses no write of the group any more. Before: ${before[0]?.detail}.`)];
}

/** A group that has never had a ready worker has lost nothing: it waits for its first figures. */
function conditionEvents(
  before: EndpointGroupStatus | undefined,
  status: EndpointGroupStatus,
  now: number,
): readonly EventNote[] {
  if (before?.everReady !== true) return [];
  return SERVICES.flatMap(({ type, restored: sentence }) => {
    const was = findCondition(before.conditions, type);
    const is = findCondition(status.conditions, type);
    if (was?.status === 'True' && is?.status === 'False') return [lost(is.reason, is.message)];
    if (was?.status !== 'False' || is?.status !== 'True') return [];
    const duration = outageDuration({ since: was.lastTransitionTime, reason: was.reason }, now);
    return [restored(`${sentence} after ${duration}. Cause: ${was.message}`)];
  });
}

const lost = (reason: string, note: string): EventNote => ({
  type: 'Warning',
  reason,
  action: 'CheckServices',
  note,
});
const restored = (note: string): EventNote => ({
  ...{ type: 'Normal', reason: 'ServiceRestored', action: 'CheckServices' },
  note,
});
