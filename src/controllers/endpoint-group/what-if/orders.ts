import type { Change } from '../scaling/plan.ts';
import type { Fleet, FleetWorker } from './fleet.ts';
import type { WorkerModel } from './worker-model.ts';

/** The fleet after what was chosen. `modelOf` says what the next worker to be rented is like. */
export function ordered(
  fleet: Fleet,
  changes: readonly Change[],
  { now, modelOf }: { readonly now: number; readonly modelOf: (made: number) => WorkerModel },
): Fleet {
  let next = fleet;
  for (const change of changes) {
    if (change.type === 'rent') next = withRented(next, change.wanted, { now, model: modelOf(next.made) });
    else next = { ...next, workers: next.workers.flatMap((worker) => told(worker, change, now)) };
  }
  return next;
}

function withRented(
  fleet: Fleet,
  wanted: 'Hot' | 'Cold',
  { now, model }: { readonly now: number; readonly model: WorkerModel },
): Fleet {
  const worker: FleetWorker = {
    ...{ model, wanted, queue: 0 },
    name: `worker-${fleet.made}`,
    readyAt: now + model.bootSeconds * 1000,
    startedAt: now,
    isWoken: false,
    wasEverReady: false,
    drainSince: undefined,
  };
  return { ...fleet, workers: [...fleet.workers, worker], made: fleet.made + 1 };
}

/** Empty where it goes at once: one that does not serve has no work to finish. */
function told(
  worker: FleetWorker,
  change: Exclude<Change, { type: 'rent' }>,
  now: number,
): readonly FleetWorker[] {
  if (worker.name !== change.name) return [worker];
  switch (change.type) {
    case 'wake':
      return [{ ...started(worker, now), wanted: 'Hot', drainSince: undefined }];
    case 'park':
      return [{ ...worker, wanted: 'Cold', drainSince: worker.drainSince ?? now }];
    case 'destroy':
      return worker.queue > 0 ? [{ ...worker, wanted: 'Gone', drainSince: worker.drainSince ?? now }] : [];
  }
}

function started(worker: FleetWorker, now: number): FleetWorker {
  if (worker.readyAt !== undefined) return worker;
  return { ...worker, startedAt: now, isWoken: true, readyAt: now + worker.model.wakeSeconds * 1000 };
}
