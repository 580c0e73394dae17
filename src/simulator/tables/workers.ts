import * as z from 'zod';
import { amount, count, type Row, rowId, time } from './row.ts';

/** Work that a worker has taken and not finished. */
const takenRequest = z.strictObject({ index: count, cost: amount });
export type TakenRequest = Row<typeof takenRequest>;

const workerReport = z.strictObject({
  at: time,
  curLoad: amount,
  newLoad: amount,
  requestsWorking: amount,
  errorMessage: z.string(),
  url: z.string().nullable(),
});
export type WorkerReport = Row<typeof workerReport>;

/** One simulated worker; `id` is that of its contract. */
export const workerRow = z.strictObject({
  id: rowId,
  groupId: rowId,
  endpointId: rowId,
  createdAt: time,
  /** `MASTER_TOKEN` of its container: its reports carry it as `mtoken`. */
  token: z.string(),
  /** Since when it takes requests; null while it cannot. */
  loadedAt: time.nullable(),
  /** Units per second: guessed from the GPU until it reports. */
  perf: amount,
  /** Requests in its hands, oldest first. */
  taken: z.array(takenRequest),
  /** Work done on the first of {@link taken}, as of {@link workedUntil}. */
  doneOnFirst: amount,
  workedUntil: time,
  /** What its last report said; null for a worker that only the simulator runs. */
  report: workerReport.nullable(),
  /** Work routed to it since its last report, which that report's `new_load` repeats. */
  routedSinceReport: amount,
});
export type WorkerRow = Row<typeof workerRow>;
