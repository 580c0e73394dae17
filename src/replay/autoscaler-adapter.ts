import type { EndpointGroupSpec } from '../api/v1alpha1/endpoint-group.ts';
import { type Change, type ScalingWorker, usualPerf } from '../controllers/endpoint-group/public.ts';
import { parseDuration } from '../lib/time.ts';
import { type Fleet, type FleetWorker, isServing, type WorkerModel } from './fleet.ts';

/** Time limits of a spec for workers, in milliseconds. */
export interface Deadlines {
  readonly bootMs: number;
  readonly wakeMs: number;
}

/** Returns the boot and wake deadlines of a spec. */
export function deadlinesOf({ template, wakeTimeout }: EndpointGroupSpec): Deadlines {
  const { provisioning, loading } = template.spec.timeouts;
  return {
    bootMs: (parseDuration(provisioning) ?? 0) + (parseDuration(loading) ?? 0),
    wakeMs: parseDuration(wakeTimeout) ?? 0,
  };
}

/** Returns the expected work per second of a new worker, from measured workers or the spec. */
export function perfOfNew({ workers }: Fleet, { expectedPerf }: EndpointGroupSpec): number | undefined {
  const measured = workers.filter((worker) => worker.wasEverReady).map(({ model }) => model.perf);
  return usualPerf(measured, expectedPerf);
}

/** Returns the workers as input of the autoscaler. */
export function choosableWorkers(
  { workers }: Fleet,
  {
    now,
    perf,
    deadlines,
  }: { readonly now: number; readonly perf: number | undefined; readonly deadlines: Deadlines },
): readonly ScalingWorker[] {
  // The least busy worker comes first; among equals, the newest.
  const newestFirst = workers.toReversed().sort((left, right) => left.queue - right.queue);
  const ranks = new Map(newestFirst.map(({ name }, index) => [name, index + 1]));
  return workers.map((worker) => ({
    name: worker.name,
    role: roleOf(worker),
    perf: worker.wasEverReady ? worker.model.perf : (perf ?? 0),
    pricePerHour: worker.model.pricePerHour,
    coldPricePerHour: worker.model.coldPricePerHour,
    keepRank: ranks.get(worker.name) ?? 0,
    isReady: isServing(worker, now),
    wasEverReady: worker.wasEverReady,
    isOverdue: startsLongerThan(worker, now, deadlines.bootMs),
    curLoad: worker.queue,
    isRunning: worker.readyAt !== undefined,
    isCurrentTemplate: true,
    isOnHold: false,
    hasRun: worker.wasEverReady,
    isUnreachable: false,
    isUpdateExempt: false,
    hasEnded: false,
    hasWakeFailed: worker.isWoken && startsLongerThan(worker, now, deadlines.wakeMs),
  }));
}

function roleOf({ desired }: FleetWorker): ScalingWorker['role'] {
  switch (desired) {
    case 'Hot':
      return 'hot';
    case 'Cold':
      return 'cold';
    case 'Gone':
      return 'leaving';
  }
}

function startsLongerThan(worker: FleetWorker, now: number, spanMs: number): boolean {
  return worker.readyAt !== undefined && !isServing(worker, now) && now >= worker.startedAt + spanMs;
}

/** Returns the fleet after the chosen actions. `modelOf` returns the model of the next rented worker. */
export function ordered(
  fleet: Fleet,
  changes: readonly Change[],
  { now, modelOf }: { readonly now: number; readonly modelOf: (created: number) => WorkerModel },
): Fleet {
  let next = fleet;
  for (const change of changes) {
    if (change.type === 'rent')
      next = withRented(next, change.desiredRole, { now, model: modelOf(next.created) });
    else next = { ...next, workers: next.workers.flatMap((worker) => changed(worker, change, now)) };
  }
  return next;
}

function withRented(
  fleet: Fleet,
  desired: 'Hot' | 'Cold',
  { now, model }: { readonly now: number; readonly model: WorkerModel },
): Fleet {
  const worker: FleetWorker = {
    ...{ model, desired, queue: 0 },
    name: `worker-${fleet.created}`,
    readyAt: now + model.bootSeconds * 1000,
    startedAt: now,
    isWoken: false,
    wasEverReady: false,
    drainSince: undefined,
  };
  return { ...fleet, workers: [...fleet.workers, worker], created: fleet.created + 1 };
}

/** Returns the changed worker; empty if it is removed at once, since it has no work to finish. */
function changed(
  worker: FleetWorker,
  change: Exclude<Change, { type: 'rent' }>,
  now: number,
): readonly FleetWorker[] {
  if (worker.name !== change.name) return [worker];
  switch (change.type) {
    case 'wake':
      return [{ ...started(worker, now), desired: 'Hot', drainSince: undefined }];
    case 'park':
      return [{ ...worker, desired: 'Cold', drainSince: worker.drainSince ?? now }];
    case 'destroy':
      return worker.queue > 0 ? [{ ...worker, desired: 'Gone', drainSince: worker.drainSince ?? now }] : [];
  }
}

function started(worker: FleetWorker, now: number): FleetWorker {
  if (worker.readyAt !== undefined) return worker;
  return { ...worker, startedAt: now, isWoken: true, readyAt: now + worker.model.wakeSeconds * 1000 };
}
