import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { annotations, endpointGroupResource, labels } from '../../../api/v1alpha1/names.ts';
import { facetsOf } from '../../../api/v1alpha1/reasons.ts';
import { isAtRest, isUp, lastRunAt, recordedState } from '../../../instance/machine-state.ts';
import { type MicroDollars, parseDollars } from '../../../lib/money.ts';
import { parseDuration, parseTime } from '../../../lib/time.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import type { OwnerKind } from '../../../runtime/owned-objects.ts';

/** EndpointGroup as the owner of its workers. */
export const OWNED_BY_GROUP: OwnerKind = { kind: endpointGroupResource.kind, label: labels.endpointGroup };

/** Role that a group gives to a worker. */
export type DesiredRole = 'Hot' | 'Cold' | 'Gone';

/** Worker, read from its GpuInstance. Times are milliseconds since the epoch. */
export interface Worker {
  readonly name: string;
  readonly uid: string;
  /** Name of its machine among the load reporters: a new machine is a new reporter. */
  readonly reporter: string;
  readonly desiredRole: DesiredRole;
  readonly powerState: 'Running' | 'Stopped';
  readonly isDeleting: boolean;
  /** The machine runs and is ready. */
  readonly isServing: boolean;
  /** The machine runs, ready or not: it may still work on requests. */
  readonly isUp: boolean;
  /** Stopped; only the disk is billed. */
  readonly isStopped: boolean;
  /** Has a machine. */
  readonly isRented: boolean;
  readonly wasEverReady: boolean;
  /** Was ready, or its machine was seen running: it may have served requests. */
  readonly hasRun: boolean;
  readonly isOverdue: boolean;
  readonly isStalled: boolean;
  /** The machine is gone, and the operator rents no other for this object. */
  readonly hasEnded: boolean;
  readonly isOnHold: boolean;
  readonly isMarked: boolean;
  readonly createdAt: number;
  /** Time since which it has been ready, or not ready. */
  readonly readySince: number;
  /** Time since which the machine has run without serving. Undefined if it serves, is to stop, or does not run. */
  readonly unreadySince: number | undefined;
  readonly drainSince: number | undefined;
  readonly wokenAt: number | undefined;
  /** True if it has run since its last wake, or was never woken. */
  readonly ranSinceWoken: boolean;
  /** Time since which the machine could have started after the wake; undefined while nothing starts it. */
  readonly wakeSince: number | undefined;
  readonly templateHash: string | undefined;
  /** GPU count and name, once known. */
  readonly gpu: string | undefined;
  /** Price while running; undefined before an offer is chosen. */
  readonly pricePerHour: MicroDollars | undefined;
  readonly coldPricePerHour: MicroDollars | undefined;
  readonly object: GpuInstance;
}

/** Returns the worker that a GpuInstance represents at this time. */
export function workerOf(object: GpuInstance, now: number): Worker {
  const { metadata, spec, status } = object;
  const times = timesOf(object, now);
  const wasWoken = times.wokenAt !== undefined;
  const isServing = spec.powerState === 'Running' && reportsReady(object, wasWoken);
  const { provisioning, loading } = spec.timeouts;
  const bootLimitMs = (parseDuration(provisioning) ?? 0) + (parseDuration(loading) ?? 0);
  const wasEverReady = isServing || spec.powerState === 'Stopped' || wasWoken;
  return {
    object,
    name: metadata.name,
    uid: metadata.uid ?? '',
    desiredRole: desiredRoleOf(object),
    powerState: spec.powerState,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isServing,
    wasEverReady,
    hasRun: wasEverReady || status?.runningAt !== undefined,
    isOverdue: !isServing && now > bootsSince(times) + bootLimitMs,
    hasEnded: hasEndedForGood(object, now),
    ranSinceWoken: hasRunSince(object, times.wokenAt),
    wakeSince: wakeSinceOf(object, times.wokenAt),
    unreadySince: isServing || spec.powerState === 'Stopped' ? undefined : unreadySince(object, times),
    ...times,
    ...marksOf(object),
    ...machineOf(object),
    ...pricesOf(object),
  };
}

/**
 * Returns the time since which a worker that does not serve has been booting: its creation, loss or wake, whichever
 * was last.
 */
export function bootsSince({
  createdAt,
  readySince,
  wokenAt = 0,
}: Pick<Worker, 'createdAt' | 'readySince' | 'wokenAt'>): number {
  return Math.max(createdAt, readySince, wokenAt);
}

/** Returns the later of the start of its run and the time at which it became unready. */
function unreadySince(
  object: GpuInstance,
  { readySince, wokenAt = 0 }: Pick<Worker, 'readySince' | 'wokenAt'>,
): number | undefined {
  const { status } = object;
  if (!isUp(object.status) || status?.runningAt === undefined) return undefined;
  return Math.max(readySince, wokenAt, lastRunAt(status) ?? 0);
}

function timesOf(
  { metadata, status }: GpuInstance,
  now: number,
): Pick<Worker, 'createdAt' | 'readySince' | 'drainSince' | 'wokenAt'> {
  const createdAt = parseTime(metadata.creationTimestamp) ?? now;
  const changedAt = findCondition(status?.conditions, 'Ready')?.lastTransitionTime;
  return {
    createdAt,
    readySince: parseTime(changedAt) ?? createdAt,
    drainSince: parseTime(metadata.annotations?.[annotations.drainSince]),
    wokenAt: parseTime(metadata.annotations?.[annotations.wokenAt]),
  };
}

/** Returns the annotations of a person and of the group. */
function marksOf({ metadata }: GpuInstance): Pick<Worker, 'isOnHold' | 'isMarked' | 'templateHash'> {
  const noted = metadata.annotations ?? {};
  return {
    isOnHold: noted[annotations.hold] !== undefined,
    isMarked: noted[annotations.dropFirst] === 'true',
    templateHash: noted[annotations.templateHash],
  };
}

function machineOf(
  object: GpuInstance,
): Pick<Worker, 'reporter' | 'isUp' | 'isStopped' | 'isRented' | 'isStalled' | 'gpu'> {
  const { metadata, spec, status } = object;
  const { instanceId, gpu } = status ?? {};
  const rests = instanceId === undefined || isAtRest(recordedState(status));
  return {
    reporter: `${metadata.uid}/${instanceId ?? ''}`,
    isUp: isUp(object.status),
    isStopped: spec.powerState === 'Stopped' && rests,
    isRented: instanceId !== undefined,
    isStalled: isTrue(object, 'Stalled'),
    gpu: gpu && `${gpu.count}x${gpu.name}`,
  };
}

/**
 * Returns true if the status reports a ready machine. After a wake only a status of the present generation counts,
 * since an older one describes the machine before it stopped.
 */
function reportsReady(object: GpuInstance, wasWoken: boolean): boolean {
  const { metadata, status } = object;
  if (!isUp(object.status) || !isTrue(object, 'Ready')) return false;
  return !wasWoken || (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
}

function isTrue({ status }: GpuInstance, type: string): boolean {
  return findCondition(status?.conditions, type)?.status === 'True';
}

/**
 * Returns the role from the annotation. Without one, such as for an adopted worker, the power state decides. A hot
 * worker that a person stopped is cold, so a wake can start it. A held one stays hot, since nothing may replace it.
 */
function desiredRoleOf({ metadata, spec }: GpuInstance): DesiredRole {
  const { [annotations.desiredRole]: desiredRole, [annotations.hold]: hold } = metadata.annotations ?? {};
  if (desiredRole === 'Cold' || desiredRole === 'Gone') return desiredRole;
  if (desiredRole === 'Hot' && hold !== undefined) return desiredRole;
  return spec.powerState === 'Running' ? 'Hot' : 'Cold';
}

/** Returns true if the worker was never woken, runs now, or has run since. */
function hasRunSince(object: GpuInstance, wokenAt: number | undefined): boolean {
  return wokenAt === undefined || isUp(object.status) || (lastRunAt(object.status) ?? 0) > wokenAt;
}

function pricesOf({ spec, status }: GpuInstance): Pick<Worker, 'pricePerHour' | 'coldPricePerHour'> {
  const { cost, offerPricePerHour } = status ?? {};
  const agreed = parseDollars(offerPricePerHour);
  const now = parseDollars(cost?.pricePerHour);
  const isStopped = spec.powerState === 'Stopped';
  const isRunning = !isStopped && isUp(status);
  return {
    pricePerHour: isRunning ? (now ?? agreed) : agreed,
    coldPricePerHour: parseDollars(cost?.storagePricePerHour) ?? (isStopped ? now : undefined),
  };
}

const HOUR_MS = 3_600_000;

/**
 * Returns true if the machine is gone and the operator rents no other for this object: the object is stopped, or its
 * Stalled reason forbids a rental. Only its history proves that it had a machine. A new object waits first, as
 * `maxPerHour` requires, so that machines that end immediately are not rented again and again.
 */
export function hasEndedForGood(object: GpuInstance, now: number): boolean {
  const { metadata, spec, status } = object;
  if (status?.instanceId !== undefined || !status?.history?.length || !isStatusCurrent(object)) return false;
  const createdAt = parseTime(metadata.creationTimestamp) ?? now;
  if (now < createdAt + HOUR_MS / spec.replacement.maxPerHour) return false;
  const stalled = findCondition(status.conditions, 'Stalled');
  if (stalled?.status === 'True') return facetsOf(stalled.reason).endsForGood === true;
  return spec.powerState === 'Stopped' && findCondition(status.conditions, 'Ready')?.reason === 'Stopped';
}

/** Returns true if the status was written for the present spec. */
export function isStatusCurrent({ metadata, status }: GpuInstance): boolean {
  return (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
}

/**
 * Returns the time since which the machine of a woken worker could have started. Undefined if it was rented after the
 * wake, is lost, or waits for something other than its host.
 */
export function wakeSinceOf(object: GpuInstance, wokenAt: number | undefined): number | undefined {
  const { instanceId, rentals, conditions, startRequestedAt } = object.status ?? {};
  if (wokenAt === undefined || instanceId === undefined || !isStatusCurrent(object)) return undefined;
  const rentedAt = parseTime(rentals?.at(-1));
  // Rentals are noted in whole seconds.
  if (rentedAt !== undefined && rentedAt + 1000 > wokenAt) return undefined;
  const ready = findCondition(conditions, 'Ready');
  if (facetsOf(ready?.reason).isNotItsOwn) return undefined;
  return Math.max(wokenAt, parseTime(startRequestedAt) ?? 0);
}
