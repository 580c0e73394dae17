import * as z from 'zod';
import { jsonObject, type Row, rowId, time } from './row.ts';

/** A key; `permissions` null is full access, `instanceId` marks the restricted key of one instance. */
export const apiKeyRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  secret: z.string().min(1),
  permissions: jsonObject.nullable(),
  keyParams: z.string().nullable(),
  instanceId: rowId.nullable(),
  /** Set for the session keys that a 2FA login gives out. */
  session: z.boolean(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
});
export type ApiKey = Row<typeof apiKeyRow>;
