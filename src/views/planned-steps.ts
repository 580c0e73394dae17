import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { LOADING_HARD_CAP } from '../api/v1alpha1/gpu-instance-spec.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { fixedFuse, leaseMs, selfEndAt } from '../instance/machine-fuses.ts';
import { recordedState } from '../instance/machine-state.ts';
import { failureWait } from '../instance/repeated-failure.ts';
import { requestedReplacement } from '../instance/replace-request.ts';
import { cancelAt, expiresAt, maxLifetimeOf, retryAt } from '../instance/run.ts';
import { parseDuration, parseTime } from '../lib/time.ts';
import { ageText } from './amounts.ts';
import { since } from './report.ts';

/* Steps that a GpuInstance plans by itself: from the object and the time alone, without a list of the marketplace.
 * A search of offers, limits of the account, a risen price, an open breaker and lists that contradict the record need
 * the operator: `gpu-rent explain` reads them. */

/** A step that follows from the object and time. */
export interface PlannedStep {
  /** In a few words, without the time: `maxLifetime ends: Destroy`. */
  readonly title: string;
  /** Epoch milliseconds; undefined for a state that has no end by time. */
  readonly at?: number;
  /** The step as a sentence, with the time relative to `now`. */
  readonly text: string;
}

/** Returns the steps, the states first, then by time. `now`: epoch milliseconds. */
export function plannedSteps(object: GpuInstance, now: number): readonly PlannedStep[] {
  const { metadata, spec } = object;
  if (metadata.deletionTimestamp) {
    const ago = since(metadata.deletionTimestamp, now);
    const text = `Deletion was requested ${ago} ago. The object is removed when its machine is proven gone.`;
    return [{ title: 'Deleted when its machine is proven gone', text }];
  }
  const paused: readonly PlannedStep[] = spec.paused
    ? [
        {
          title: 'Paused: nothing is rented or replaced',
          text: 'Paused: nothing is rented or replaced. Resume: gpu-rent resume.',
        },
      ]
    : [];
  const timed = TIMED.flatMap((step) => step(object) ?? [])
    .filter(({ at }) => at > now)
    .sort((left, right) => left.at - right.at)
    .map(({ title, at, text }) => ({ title, at, text: text(ageText(at - now)) }));
  return [...paused, ...timed];
}

interface TimedStep {
  readonly title: string;
  readonly at: number;
  /** Returns the sentence for the time that is left. */
  readonly text: (left: string) => string;
}

/** Steps with a time, by the rules of the operator that end or begin something then. */
const TIMED: readonly ((object: GpuInstance) => TimedStep | undefined)[] = [
  lifetimeEnd,
  idleEndStep,
  ownEnd,
  leaseEnd,
  contractEnd,
  bootEnd,
  toleranceEnd,
  askedReplacement,
  askedCancel,
  retry,
  failureBackoff,
  removal,
];

function lifetimeEnd({ spec, status }: GpuInstance): TimedStep | undefined {
  const span = parseDuration(maxLifetimeOf(spec));
  const from = parseTime(status?.firstRentedAt);
  const isOver = status?.run?.finishedAt !== undefined && status.instanceId === undefined;
  if (span === undefined || from === undefined || isOver) return undefined;
  return {
    title: `maxLifetime ends: ${spec.deletionPolicy}`,
    at: from + span,
    text: (left) => `maxLifetime ends in ${left}; then ${spec.deletionPolicy}.`,
  };
}

function idleEndStep({ spec, status }: GpuInstance): TimedStep | undefined {
  const at = parseTime(status?.idle?.endsAt);
  const action = spec.idle?.action;
  if (at === undefined || action === undefined) return undefined;
  return {
    title: `Idle: ${action} unless used`,
    at,
    text: (left) => `Idle since ${status?.idle?.since}; ${action} in ${left}, unless it is used.`,
  };
}

function ownEnd(object: GpuInstance): TimedStep | undefined {
  const [sentence, at] = [fixedFuse(object), selfEndAt(object)];
  if (sentence === undefined || at === undefined) return undefined;
  return { title: 'Machine ends itself', at, text: () => sentence };
}

/** Returns the end of the lease once its renewals have failed for long: a renewed lease ends nothing. */
function leaseEnd(object: GpuInstance): TimedStep | undefined {
  const { status } = object;
  const isAtRisk = status?.conditions?.some(
    ({ type, status: is }) => type === 'LeaseAtRisk' && is === 'True',
  );
  const [renewedAt, span] = [parseTime(status?.lease?.renewedAt), leaseMs(object)];
  if (!isAtRisk || renewedAt === undefined || span === undefined) return undefined;
  return {
    title: 'Lease ends unless renewed',
    at: renewedAt + span,
    text: (left) => `Lease ends in ${left}, unless it is renewed; then the machine ends itself.`,
  };
}

function contractEnd({ status }: GpuInstance): TimedStep | undefined {
  const at = parseTime(status?.contractEnd?.at);
  if (at === undefined || status?.instanceId === undefined) return undefined;
  return { title: 'Rental contract ends', at, text: (left) => `Rental contract ends in ${left}.` };
}

/** Returns the timeout of a boot. The operator may wait longer: after its own start, and for the next list. */
function bootEnd({ spec, status }: GpuInstance): TimedStep | undefined {
  if (status?.instanceId === undefined || status.runningAt !== undefined) return undefined;
  const { state } = recordedState(status);
  const shownSince = parseTime(status.actualStatusSince);
  if (state === 'loading' && shownSince !== undefined) {
    const progressAt = Math.max(shownSince, parseTime(status.progressAt) ?? shownSince);
    const at = Math.min(progressAt + ms(spec.timeouts.loading), shownSince + ms(LOADING_HARD_CAP));
    return {
      title: 'Loading times out',
      at,
      text: (left) => `Loading times out in ${left}, unless progress is seen.`,
    };
  }
  const from = parseTime(status.rentedAt);
  if (state !== 'pending' || from === undefined) return undefined;
  return {
    title: 'Provisioning times out',
    at: from + ms(spec.timeouts.provisioning),
    text: (left) => `Provisioning times out in ${left}.`,
  };
}

/** Returns the end of the tolerance of a silent machine that would be replaced. */
function toleranceEnd({ metadata, spec, status }: GpuInstance): TimedStep | undefined {
  const { state } = recordedState(status);
  const from = parseTime(status?.actualStatusSince);
  const isReplaced =
    spec.powerState === 'Running' &&
    spec.replacement.policy === 'Always' &&
    !spec.paused &&
    metadata.annotations?.[annotations.hold] === undefined &&
    spec.adopt?.policy !== 'Observe';
  const isSilent = state === 'offline' || state === 'unseen';
  if (!isSilent || !isReplaced || from === undefined || status?.instanceId === undefined) return undefined;
  const { offline, unknown } = spec.replacement.tolerance;
  return {
    title: 'Replaced unless it answers',
    at: from + ms(state === 'offline' ? offline : unknown),
    text: (left) => `Tolerance of the silent machine ends in ${left}; then it is replaced.`,
  };
}

function askedReplacement(object: GpuInstance): TimedStep | undefined {
  const at = requestedReplacement(object);
  if (at === undefined) return undefined;
  return { title: 'Replaced as requested', at, text: (left) => `Replaced as requested in ${left}.` };
}

function askedCancel(object: GpuInstance): TimedStep | undefined {
  const at = cancelAt(object);
  if (typeof at !== 'number' || object.status?.run?.finishedAt !== undefined) return undefined;
  return { title: 'Run is cancelled', at, text: (left) => `Run is cancelled in ${left}, as requested.` };
}

function retry(object: GpuInstance): TimedStep | undefined {
  const { instanceId, run } = object.status ?? {};
  const at = instanceId === undefined && run?.finishedAt === undefined ? retryAt(object) : undefined;
  if (at === undefined) return undefined;
  return { title: 'Next attempt of the run', at, text: (left) => `Next attempt of the run in ${left}.` };
}

function failureBackoff(object: GpuInstance): TimedStep | undefined {
  const wait = object.status?.instanceId === undefined ? failureWait(object) : undefined;
  if (wait === undefined) return undefined;
  return {
    title: 'Rents again after failures',
    at: wait.until,
    text: (left) => `Rents again in ${left}: ${wait.failures.machines} machines in a row failed.`,
  };
}

function removal(object: GpuInstance): TimedStep | undefined {
  const at = expiresAt(object);
  if (at === undefined) return undefined;
  return {
    title: 'Object is deleted',
    at,
    text: (left) => `Object is deleted in ${left} (ttlAfterFinished).`,
  };
}

function ms(duration: string): number {
  return parseDuration(duration) ?? 0;
}
