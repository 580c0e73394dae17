import * as z from 'zod';
import { jsonObject, type Row, rowId, time } from './row.ts';

/* Users and their keys, public SSH keys and variables. */

/** A login of the marketplace (specification 2.4). */
export const userRow = z.strictObject({
  id: rowId,
  email: z.string().nullable(),
  username: z.string(),
  fullName: z.string(),
  sshKey: z.string(),
  /** Total payments; credit is this less all charges of the ledger. */
  depositedMicros: z.number(),
  /** Charges of ended contracts; those of live ones are computed on demand. */
  settledMicros: z.number(),
  emailVerifiedAt: time.nullable(),
  phoneNumber: z.string().nullable(),
  tfaStatus: z.enum(['enabled', 'disabled', 'legacy']),
  hasBilling: z.boolean(),
  isAdmin: z.boolean(),
  /** True if calls of this login have a team's context. */
  inTeam: z.boolean(),
  createdAt: time,
});
export type User = Row<typeof userRow>;

/** A key; `permissions` null is full access, `instanceId` marks the restricted key of one instance. */
export const apiKeyRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  secret: z.string().min(1),
  permissions: jsonObject.nullable(),
  keyParams: z.string().nullable(),
  instanceId: rowId.nullable(),
  /** Key that rented the instance. */
  rentedBy: rowId.exactOptional(),
  /** Set for session keys of a 2FA login. */
  session: z.boolean(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
});
export type ApiKey = Row<typeof apiKeyRow>;

/** A public key that the account's machines accept. */
export const sshKeyRow = z.strictObject({
  id: rowId,
  userId: rowId,
  key: z.string(),
  createdAt: time,
  deletedAt: time.nullable(),
});
export type SshKey = Row<typeof sshKeyRow>;

/** An environment variable of the account, set in every container and shown masked. */
export const variableRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  value: z.string(),
  updatedAt: time,
});
export type Variable = Row<typeof variableRow>;
