import { boundedNumber, stringField } from '../calls/fields.ts';
import type { JsonObject } from '../json.ts';
import type { WorkerReport, WorkerRow } from '../tables/workers.ts';
import { MAX_WORK } from './options.ts';

/* `POST /worker_status/`: what a worker says of itself. PURE. */

/** What a report changes: the worker, and the work that came to it by other ways than `/route/`. */
export interface Reported {
  readonly worker: WorkerRow;
  readonly foreignLoad: number;
}

/**
 * `loadtime` is 0 until the model is loaded, `max_perf` is the benchmark result, a non-empty `error_msg`
 * means broken. `new_load` repeats what was routed since the last report; only the rest is news.
 */
export function applyReport(worker: WorkerRow, body: JsonObject, now: number): Reported {
  const perf = amount(body, 'max_perf');
  const newLoad = amount(body, 'new_load') + amount(body, 'rej_load');
  const isLoaded = amount(body, 'loadtime') > 0;
  return {
    worker: {
      ...worker,
      report: { ...readReport(body, now), newLoad },
      perf: perf > 0 ? perf : worker.perf,
      loadedAt: isLoaded ? (worker.loadedAt ?? now) : null,
      routedSinceReport: 0,
      workedUntil: now,
    },
    foreignLoad: Math.max(0, newLoad - worker.routedSinceReport),
  };
}

function readReport(body: JsonObject, now: number): Omit<WorkerReport, 'newLoad'> {
  return {
    at: now,
    curLoad: amount(body, 'cur_load'),
    requestsWorking: amount(body, 'num_requests_working'),
    errorMessage: stringField(body, 'error_msg') ?? '',
    url: stringField(body, 'url') || null,
  };
}

const FIGURES = { min: -MAX_WORK, max: MAX_WORK };

const amount = (body: JsonObject, name: string): number => boundedNumber(body, name, FIGURES) ?? 0;
