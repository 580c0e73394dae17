import * as z from 'zod';
import { type Row, rowId, time } from './row.ts';

/** A public key that the account's machines let in. */
export const sshKeyRow = z.strictObject({
  id: rowId,
  userId: rowId,
  key: z.string(),
  createdAt: time,
  deletedAt: time.nullable(),
});
export type SshKey = Row<typeof sshKeyRow>;
