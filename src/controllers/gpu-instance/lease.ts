import type { GpuInstance, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { leaseMs } from '../../instance/machine-fuses.ts';
import { isUp } from '../../instance/machine-state.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import { findCondition } from '../../runtime/conditions.ts';
import type { EventNote } from '../../runtime/events.ts';
import { conditionState } from './conditions.ts';
import type { Added, StatusDecision } from './decision.ts';
import type { Facts } from './facts.ts';
import type { ConditionState, LeaseView } from './types.ts';

/** Number of failures before an event: a single lost connection causes none. */
export const FAILURES_UNTIL_EVENT = 2;

/**
 * Returns the lease of the machine: the last renewal, and the condition LeaseAtRisk with the time at which the machine
 * ends itself. The first renewal arms a lease: without it, the machine never ends itself.
 */
export function addedLease(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  { status: { fields } }: StatusDecision,
): Added<'LeaseAtRisk'> {
  if (fields.instanceId !== facts.object.status?.instanceId) return {};
  const { lease: view } = facts.machine;
  if (!view) return withoutOne(facts);
  const atRisk = riskOf(facts, view);
  return {
    fields: { ...fields, lease: leaseFields(facts, view) },
    ...(atRisk && { conditions: { LeaseAtRisk: atRisk } }),
    events: leaseEvents(facts, view, atRisk),
  };
}

/** Returns that the present machine was rented before the lease was configured, and so has none. */
function withoutOne({ object }: Pick<Facts, 'object'>): Added<'LeaseAtRisk'> {
  const { spec, status } = object;
  const { selfEnd } = status ?? {};
  const isDesired = spec.lease !== undefined && spec.deletionPolicy === 'Destroy' && spec.adopt === undefined;
  const hasNone = selfEnd !== undefined && selfEnd.leaseSeconds === undefined;
  if (!isDesired || !hasNone || !isUp(status)) return {};
  const atRisk = conditionState('True', 'LeaseNotRenewed', WITHOUT_ONE);
  return { conditions: { LeaseAtRisk: atRisk }, events: riskEvents(object, atRisk) };
}

const WITHOUT_ONE =
  'This machine was rented without a lease, so that only the operator ends it: gpu-rent replace rents one with it.';

function leaseFields(
  facts: Pick<Facts, 'object' | 'clock'>,
  { renewedAt, hostKey, by }: LeaseView,
): GpuInstanceStatus['lease'] {
  const { since = formatTime(facts.clock.now) } = facts.object.status?.lease ?? {};
  const at = renewedAt === undefined ? undefined : formatTime(renewalTime(facts, renewedAt));
  return { since, ...omitUndefined({ by, renewedAt: at, hostKey }) };
}

/**
 * Returns the time of a renewal. The recorded time stays while it is the same to the second: the status has whole
 * seconds, so that a time that is read from it and written again would be earlier at each reconcile.
 */
function renewalTime({ object, clock }: Pick<Facts, 'object' | 'clock'>, renewedAt: number): number {
  const at = clock.now - (clock.steadyNow - renewedAt);
  const recorded = parseTime(object.status?.lease?.renewedAt);
  return recorded !== undefined && Math.abs(at - recorded) < 1_000 ? recorded : at;
}

function riskOf(
  facts: Pick<Facts, 'object' | 'clock'>,
  { renewedAt, failures, detail }: LeaseView,
): ConditionState | undefined {
  const durationMs = leaseMs(facts.object) ?? 0;
  if (renewedAt === undefined) {
    if (failures < FAILURES_UNTIL_EVENT) return undefined;
    const unarmed = `The lease is not armed, so that only the operator ends this machine${because(detail)}.`;
    return conditionState('True', 'LeaseNotRenewed', unarmed);
  }
  const silentMs = facts.clock.steadyNow - renewedAt;
  if (silentMs < durationMs / 2) return undefined;
  const at = renewalTime(facts, renewedAt);
  const text = `The lease was last renewed at ${formatTime(at)}${because(detail)}. The machine destroys itself at about ${formatTime(at + durationMs)}.`;
  return conditionState('True', 'LeaseNotRenewed', text);
}

/** Returns the reason of the last failure as the end of a sentence. A new process knows none. */
function because(detail: string | undefined): string {
  return detail === undefined ? '' : `: ${detail}`;
}

const action = 'RenewingLease';

function isAtRisk({ status }: Pick<GpuInstance, 'status'>): boolean {
  return findCondition(status?.conditions, 'LeaseAtRisk')?.status === 'True';
}

/** Returns the event when the lease begins to be at risk. */
function riskEvents(object: Pick<GpuInstance, 'status'>, { message }: ConditionState): readonly EventNote[] {
  return isAtRisk(object) ? [] : [{ type: 'Warning', reason: 'LeaseNotRenewed', action, note: message }];
}

function leaseEvents(
  { object: { status } }: Pick<Facts, 'object'>,
  { failures, detail }: LeaseView,
  atRisk: ConditionState | undefined,
): readonly EventNote[] {
  if (atRisk) return riskEvents({ status }, atRisk);
  if (isAtRisk({ status }))
    return [{ type: 'Normal', reason: 'LeaseRenewed', action, note: 'The lease is renewed again.' }];
  const isNew = failures === FAILURES_UNTIL_EVENT;
  const note = `The lease was not renewed ${failures} times${because(detail)}.`;
  return isNew ? [{ type: 'Warning', reason: 'LeaseNotRenewed', action, note }] : [];
}
