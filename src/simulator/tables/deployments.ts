import * as z from 'zod';
import { amount, jsonObject, type Row, rowId, time } from './row.ts';

/* Deployments: code of a user that runs on the workers of an endpoint group of its own. */

/** One upload of the code. */
const deploymentVersion = z.strictObject({
  id: rowId,
  fileHash: z.string(),
  fileSize: amount,
  label: z.string().nullable(),
  createdAt: time,
  /** The bytes that were uploaded, in base64; null until they arrive. */
  file: z.string().nullable(),
});
export type DeploymentVersion = Row<typeof deploymentVersion>;

export const deploymentRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  tag: z.string(),
  image: z.string(),
  endpointId: rowId,
  workerGroupId: rowId,
  /** Oldest first; the last one is current. */
  versions: z.array(deploymentVersion).min(1),
  storage: z.string().nullable(),
  /** Seconds without a heartbeat after which it is stopped; null: never. */
  ttlSeconds: amount.nullable(),
  env: jsonObject,
  searchParams: z.string(),
  lastHeartbeatAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
});
export type DeploymentRow = Row<typeof deploymentRow>;
