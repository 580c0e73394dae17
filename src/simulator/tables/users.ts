import * as z from 'zod';
import { type Row, rowId, time } from './row.ts';

/** A login of the marketplace (specification 2.4). */
export const userRow = z.strictObject({
  id: rowId,
  email: z.string().nullable(),
  username: z.string(),
  fullName: z.string(),
  sshKey: z.string(),
  /** Paid in so far; credit is this less all that the ledger charged. */
  depositedMicros: z.number(),
  /** Charged by contracts that have ended; those of live ones are computed when asked. */
  settledMicros: z.number(),
  emailVerifiedAt: time.nullable(),
  phoneNumber: z.string().nullable(),
  tfaStatus: z.enum(['enabled', 'disabled', 'legacy']),
  hasBilling: z.boolean(),
  isAdmin: z.boolean(),
  /** True if calls of this login are made in a team's context. */
  inTeam: z.boolean(),
  createdAt: time,
});
export type User = Row<typeof userRow>;
