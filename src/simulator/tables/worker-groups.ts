import * as z from 'zod';
import { amount, count, type Row, rowId, time } from './row.ts';

export const workerGroupRow = z.strictObject({
  id: rowId,
  userId: rowId,
  endpointId: rowId,
  templateHash: z.string().nullable(),
  templateId: rowId.nullable(),
  /** The text grammar of offer search, or the JSON text of an object. */
  searchParams: z.string(),
  launchArgs: z.string(),
  gpuRamGB: amount,
  testWorkers: count,
  apiKey: z.string(),
  createdAt: time,
  /** Workers that still have to be restarted with a newer version, in turn. */
  updating: z.array(rowId),
});
export type WorkerGroupRow = Row<typeof workerGroupRow>;
