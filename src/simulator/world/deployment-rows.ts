import type { JsonObject } from '../json.ts';

/*
 * Deployments: code of a user that runs on the workers of an endpoint group of its own. All times are
 * milliseconds of simulated time.
 */

/** One upload of the code. */
export interface DeploymentVersion {
  readonly id: number;
  readonly fileHash: string;
  readonly fileSize: number;
  readonly label: string | null;
  readonly createdAt: number;
  /** The bytes that were uploaded, in base64; null until they arrive. */
  readonly file: string | null;
}

export interface DeploymentRow {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly tag: string;
  readonly image: string;
  readonly endpointId: number;
  readonly workerGroupId: number;
  /** Oldest first; the last one is current. */
  readonly versions: readonly DeploymentVersion[];
  readonly storage: string | null;
  /** Seconds without a heartbeat after which it is stopped; null: never. */
  readonly ttlSeconds: number | null;
  readonly env: JsonObject;
  readonly searchParams: string;
  readonly lastHeartbeatAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}
