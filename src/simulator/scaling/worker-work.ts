import type { WorkerRow } from '../tables/workers.ts';

/* What a worker has in hand. A simulated one works its requests off one after the other. PURE. */

/** The worker at `now`: finished requests gone. A reporting worker says so itself, so nothing changes. */
export function workUntil(worker: WorkerRow, now: number): WorkerRow {
  if (worker.report || worker.loadedAt === null) return { ...worker, workedUntil: now };
  let done = worker.doneOnFirst + (worker.perf * (now - worker.workedUntil)) / 1000;
  let finished = 0;
  for (const { cost } of worker.taken) {
    if (done < cost) break;
    done -= cost;
    finished += 1;
  }
  const taken = worker.taken.slice(finished);
  return { ...worker, taken, doneOnFirst: taken.length === 0 ? 0 : done, workedUntil: now };
}

/** Units of work in hand: as reported, plus what was routed to it since; else what is not worked off. */
export function loadOf(worker: WorkerRow): number {
  if (worker.report) return worker.report.curLoad + worker.routedSinceReport;
  return worker.taken.reduce((sum, { cost }) => sum + cost, 0) - worker.doneOnFirst;
}

/** Seconds a new request would wait. */
export function queueSeconds(worker: WorkerRow): number {
  return loadOf(worker) / Math.max(worker.perf, 1e-9);
}

/** The worker with one request more. */
export function takeRequest(worker: WorkerRow, request: { index: number; cost: number }): WorkerRow {
  return {
    ...worker,
    taken: [...worker.taken, request],
    routedSinceReport: worker.routedSinceReport + request.cost,
  };
}

/** The worker without the requests it says are over. */
export function dropRequests(worker: WorkerRow, indexes: ReadonlySet<number>): WorkerRow {
  const [first] = worker.taken;
  const taken = worker.taken.filter(({ index }) => !indexes.has(index));
  return { ...worker, taken, doneOnFirst: taken[0] === first ? worker.doneOnFirst : 0 };
}
