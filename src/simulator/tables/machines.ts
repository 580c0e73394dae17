import * as z from 'zod';
import { amount, type Row, rowId, time } from './row.ts';

/** A physical machine of a host. */
export const machineRow = z.strictObject({
  id: rowId,
  hostId: rowId,
  publicAddress: z.string(),
  /** `up`, `offline` (host disconnected), `unknown` (no heartbeat), `dead` (never comes back). */
  state: z.enum(['up', 'offline', 'unknown', 'dead']),
  /** End of a passing outage; null while up and for ever when dead. */
  stateUntil: time.nullable(),
  /** Multiplies the image pull of this machine. */
  pullFactor: amount,
  reliability: amount,
  listed: z.boolean(),
});
export type Machine = Row<typeof machineRow>;
