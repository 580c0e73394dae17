import type { EndpointGroupCondition } from '../../api/v1alpha1/conditions.ts';
import type { EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { type Outage, outageCause, outageDuration, outageText } from '../../api/v1alpha1/outage.ts';
import { findCondition } from '../../runtime/conditions.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Refusal } from './types.ts';
import type { Worker } from './workers/worker.ts';

/** Conditions of services that a group needs, with the text of the event when the service returns. */
const SERVICES: readonly { readonly type: EndpointGroupCondition; readonly restored: string }[] = [
  { type: 'MetricsAvailable', restored: 'Load figures available again' },
  { type: 'GatewayConnected', restored: 'Pickers report again' },
  { type: 'EndpointsPublished', restored: 'ConfigMap lists all ready workers again' },
];

/** Returns the recorded outage of the first hot worker by name that does not serve. */
export function outageOfWorkers(workers: readonly Worker[]): Outage | undefined {
  return workers
    .filter(({ desiredRole, isServing, isDeleting }) => desiredRole === 'Hot' && !isServing && !isDeleting)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ object }) => object.status?.outage ?? [])
    .at(0);
}

/** Returns one event for each service lost or restored between the former and the new status. */
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
    return [lost(outage.reason, `${outageText(outage, now)} Workers of the group are affected.`)];
  if (!before || outage) return [];
  return [restored(`Service restored after ${outageDuration(before, now)}. Cause: ${outageCause(before)}.`)];
}

/** Returns an event when the API server begins to reject writes of the group, and one when rejections end. */
export function refusalEvents(before: readonly Refusal[], now: readonly Refusal[]): readonly EventNote[] {
  const [first] = now;
  if (first && before.length === 0) return [lost('NotPermitted', `${first.detail}.`)];
  if (first || before.length === 0) return [];
  return [
    restored(`The API server rejects no more writes of the group. Last rejection: ${before[0]?.detail}.`),
  ];
}

/** Returns the events of changed conditions. A group that was never ready has lost no service. */
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
