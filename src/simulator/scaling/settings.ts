import * as z from 'zod';
import { amount, type Row } from '../tables/row.ts';

const positive = z.number().gt(0);

/** Figures behind endpoint groups that neither the specification nor the service shows. Times are seconds. */
export const scalingSettings = z.strictObject({
  /** How often the scaling rule runs. */
  tickSeconds: positive,
  /** Span over which arriving load is averaged. */
  rateSeconds: positive,
  /** Span whose highest rate steers the cold pool. */
  longSeconds: positive,
  /** How long the need for hot workers has to stay below what is hot before one is stopped. */
  scaleDownSeconds: amount,
  /** From `running` until a simulated worker has loaded its model; times `boot.scale`. */
  modelLoadSeconds: amount,
  /** Units of work per second of a simulated worker, per point of `dlperf`. */
  perfPerDlperf: positive,
  /** The same for a group that has no worker yet. */
  unknownPerf: positive,
  /** A worker whose reports stop for this long is simulated again, as one that never reported. */
  staleReportSeconds: amount,
  /** How long a request that `/route/` could not place stays queued unless it is asked for again. */
  queueSeconds: amount,
  /** Port on which workers listen, inside their container. */
  workerPort: z.int().min(1).max(65_535),
  /** Disk of a simulated worker whose template names none, GB. */
  workerDiskGB: positive,
  /** Whether deleting a worker group leaves its machines running, as the public service may. */
  keepWorkersOfDeletedGroup: z.boolean(),
});
export type ScalingSettings = Row<typeof scalingSettings>;

export const defaultScalingSettings: ScalingSettings = {
  tickSeconds: 10,
  rateSeconds: 60,
  longSeconds: 3600,
  scaleDownSeconds: 120,
  modelLoadSeconds: 20,
  perfPerDlperf: 1,
  unknownPerf: 100,
  staleReportSeconds: 90,
  queueSeconds: 60,
  workerPort: 3000,
  workerDiskGB: 16,
  keepWorkersOfDeletedGroup: true,
};
