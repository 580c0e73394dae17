import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { parseDuration } from '../../lib/duration.ts';
import { type MicroDollars, parseDollars } from '../../lib/money.ts';
import { parseTime } from '../../lib/rfc3339.ts';
import { findCondition } from '../../runtime/conditions.ts';

/** What a group wants of a worker. */
export type Wanted = 'Hot' | 'Cold' | 'Gone';

/** A worker as its GpuInstance shows it. Times are epoch milliseconds. */
export interface Worker {
  readonly name: string;
  readonly uid: string;
  /** Names its machine among the reporters of load: another machine is another reporter. */
  readonly reporter: string;
  readonly wanted: Wanted;
  readonly powerState: 'Running' | 'Stopped';
  readonly isDeleting: boolean;
  /** Its machine runs and is ready to serve. */
  readonly isServing: boolean;
  readonly isBooted: boolean;
  /** Stopped and only its disk bills. */
  readonly isStopped: boolean;
  /** Has a machine, or may be about to have one. */
  readonly isRented: boolean;
  readonly wasEverReady: boolean;
  readonly isOverdue: boolean;
  readonly isStalled: boolean;
  readonly isHeld: boolean;
  readonly isMarked: boolean;
  readonly createdAt: number;
  /** Since when it has been ready, or has not. */
  readonly readySince: number;
  readonly drainSince: number | undefined;
  readonly wokenAt: number | undefined;
  /** Whether it has run since it was last woken. */
  readonly ranSinceWoken: boolean;
  readonly templateHash: string | undefined;
  /** GPU name and count, once known. */
  readonly gpu: string | undefined;
  /** While it runs; undefined before an offer is taken. */
  readonly pricePerHour: MicroDollars | undefined;
  readonly coldPricePerHour: MicroDollars | undefined;
  readonly object: GpuInstance;
}

const STOPPED_WORDS: ReadonlySet<string> = new Set(['stopped', 'exited', 'frozen']);

/** What a GpuInstance of a group is at this time. */
export function workerOf(object: GpuInstance, now: number): Worker {
  const { metadata, spec, status } = object;
  const isRunning = spec.powerState === 'Running';
  const createdAt = parseTime(metadata.creationTimestamp) ?? now;
  const wokenAt = parseTime(metadata.annotations?.[annotations.wokenAt]);
  const isServing = isRunning && saysReady(object, wokenAt !== undefined);
  const readySince = parseTime(findCondition(status?.conditions, 'Ready')?.lastTransitionTime) ?? createdAt;
  return {
    object,
    name: metadata.name,
    uid: metadata.uid ?? '',
    reporter: `${metadata.uid}/${status?.instanceId ?? ''}`,
    wanted: wantedOf(object),
    powerState: spec.powerState,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isServing,
    isBooted: isTrue(object, 'Booted'),
    isStopped:
      !isRunning && (status?.instanceId === undefined || STOPPED_WORDS.has(status.actualStatus ?? '')),
    isRented: status?.instanceId !== undefined,
    wasEverReady: isServing || !isRunning || wokenAt !== undefined,
    isOverdue: !isServing && now > Math.max(createdAt, readySince) + bootLimitMs(object),
    isStalled: isTrue(object, 'Stalled'),
    isHeld: metadata.annotations?.[annotations.hold] !== undefined,
    isMarked: metadata.annotations?.[annotations.dropFirst] === 'true',
    createdAt,
    readySince,
    drainSince: parseTime(metadata.annotations?.[annotations.drainSince]),
    wokenAt,
    ranSinceWoken: hasRunSince(object, wokenAt),
    templateHash: metadata.annotations?.[annotations.templateHash],
    gpu: status?.gpu && `${status.gpu.count}x${status.gpu.name}`,
    ...pricesOf(object),
  };
}

/** What is said of one that was woken counts once it was said after the wake: before it, it was being stopped. */
function saysReady(object: GpuInstance, wasWoken: boolean): boolean {
  const { metadata, status } = object;
  if (status?.actualStatus !== 'running' || !isTrue(object, 'Ready')) return false;
  return !wasWoken || (status.observedGeneration ?? -1) >= (metadata.generation ?? 0);
}

function isTrue({ status }: GpuInstance, type: string): boolean {
  return findCondition(status?.conditions, type)?.status === 'True';
}

/** A worker that nobody has marked, such as an adopted one, is wanted as it is. */
function wantedOf({ metadata, spec }: GpuInstance): Wanted {
  const wanted = metadata.annotations?.[annotations.wanted];
  if (wanted === 'Hot' || wanted === 'Cold' || wanted === 'Gone') return wanted;
  return spec.powerState === 'Running' ? 'Hot' : 'Cold';
}

function bootLimitMs({ spec }: GpuInstance): number {
  return (parseDuration(spec.timeouts.provisioning) ?? 0) + (parseDuration(spec.timeouts.loading) ?? 0);
}

/** `Booted` turns True when it runs, and whatever comes after that turns it at a later time. */
function hasRunSince({ status }: GpuInstance, wokenAt: number | undefined): boolean {
  if (wokenAt === undefined) return true;
  const booted = findCondition(status?.conditions, 'Booted');
  return booted?.status === 'True' || (parseTime(booted?.lastTransitionTime) ?? 0) > wokenAt;
}

function pricesOf({ spec, status }: GpuInstance): Pick<Worker, 'pricePerHour' | 'coldPricePerHour'> {
  const dollars = (text: string | undefined) => (text === undefined ? undefined : parseDollars(text));
  const agreed = dollars(status?.offerPricePerHour);
  const now = dollars(status?.cost?.pricePerHour);
  const isRunning = spec.powerState === 'Running' && status?.actualStatus === 'running';
  const storage = dollars(status?.cost?.storagePricePerHour);
  return {
    pricePerHour: isRunning ? (now ?? agreed) : agreed,
    coldPricePerHour: storage ?? (spec.powerState === 'Stopped' ? now : undefined),
  };
}
