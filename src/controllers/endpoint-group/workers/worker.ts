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

/** A worker as its GpuInstance shows it. Times are epoch milliseconds. */
export interface Worker {
  readonly name: string;
  readonly uid: string;
  /** Names its machine among the reporters of load: another machine is another reporter. */
  readonly reporter: string;
  readonly desiredRole: DesiredRole;
  readonly powerState: 'Running' | 'Stopped';
  readonly isDeleting: boolean;
  /** Its machine runs and is ready to serve. */
  readonly isServing: boolean;
  /** Its machine runs, whether it answers or not: what was begun there may still be worked on. */
  readonly isUp: boolean;
  /** Stopped and only its disk bills. */
  readonly isStopped: boolean;
  /** Has a machine, or may be about to have one. */
  readonly isRented: boolean;
  readonly wasEverReady: boolean;
  /** Its machine was seen running: it may have served. */
  readonly hasRun: boolean;
  readonly isOverdue: boolean;
  readonly isStalled: boolean;
  /** Its machine is gone, and it gets no other by itself. */
  readonly hasEnded: boolean;
  readonly isOnHold: boolean;
  readonly isMarked: boolean;
  readonly createdAt: number;
  /** Since when it has been ready, or has not. */
  readonly readySince: number;
  /** Since when its machine has run without serving; undefined where it serves, is to stop, or does not run. */
  readonly unreadySince: number | undefined;
  readonly drainSince: number | undefined;
  readonly wokenAt: number | undefined;
  /** Whether it has run since it was last woken. */
  readonly ranSinceWoken: boolean;
  /** Since when its machine could have started after the wake; undefined while nobody asks it to. */
  readonly wakeSince: number | undefined;
  readonly templateHash: string | undefined;
  /** GPU name and count, once known. */
  readonly gpu: string | undefined;
  /** While it runs; undefined before an offer is taken. */
  readonly pricePerHour: MicroDollars | undefined;
  readonly coldPricePerHour: MicroDollars | undefined;
  readonly object: GpuInstance;
}

/** What a GpuInstance of a group is at this time. */
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

/** Since when one that does not serve has been on its way: made, lost or woken, whichever was last. Epoch milliseconds. */
export function bootsSince({
  createdAt,
  readySince,
  wokenAt = 0,
}: Pick<Worker, 'createdAt' | 'readySince' | 'wokenAt'>): number {
  return Math.max(createdAt, readySince, wokenAt);
}

/** It counts from when it ran and was not ready, whichever began last. */
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

/** What people and the group have written on it. */
function marksOf({ metadata }: GpuInstance): Pick<Worker, 'isOnHold' | 'isMarked' | 'templateHash'> {
  const noted = metadata.annotations ?? {};
  return {
    isOnHold: noted[annotations.hold] !== undefined,
    isMarked: noted[annotations.dropFirst] === 'true',
    templateHash: noted[annotations.templateHash],
  };
}

/** What is known of its machine. */
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

/** What is said of one that was woken counts once it was said after the wake: before it, it was being stopped. */
function reportsReady(object: GpuInstance, wasWoken: boolean): boolean {
  const { metadata, status } = object;
  if (!isUp(object.status) || !isTrue(object, 'Ready')) return false;
  return !wasWoken || (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
}

function isTrue({ status }: GpuInstance, type: string): boolean {
  return findCondition(status?.conditions, type)?.status === 'True';
}

/**
 * A worker that nobody has marked, such as an adopted one, is wanted as it is. So is one that a person has stopped: as
 * a cold one it is woken where it is needed. One that is held stays hot, since nobody may take its place.
 */
function desiredRoleOf({ metadata, spec }: GpuInstance): DesiredRole {
  const { [annotations.desiredRole]: desiredRole, [annotations.hold]: hold } = metadata.annotations ?? {};
  if (desiredRole === 'Cold' || desiredRole === 'Gone') return desiredRole;
  if (desiredRole === 'Hot' && hold !== undefined) return desiredRole;
  return spec.powerState === 'Running' ? 'Hot' : 'Cold';
}

/** True if it runs, or has begun to run after it was woken. */
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
 * Whether its machine is gone and it gets no other by itself: stopped ones rent none, and those of a limit or of a
 * policy rent none either. Its history proves that it had one: a status that was lost says nothing. One that was made a
 * short while ago waits as `maxPerHour` asks for, so that machines which end at once are not rented over and over.
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

/** What its status says is of its present spec. */
export function isStatusCurrent({ metadata, status }: GpuInstance): boolean {
  return (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
}

/**
 * Since when the machine of a worker that was woken could have started. Undefined where it is another than was woken, or
 * was lost, and while nobody asks it to start: there is nothing to blame its host for then.
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
