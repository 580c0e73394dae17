import * as z from 'zod';
import { count, rowId, time } from '../world/row-shapes.ts';
import type { SentCode, TfaAccount } from './state.ts';

/* What 2FA rows from outside (`PUT /sim/world`) have to look like. PURE. */

const commonFields = {
  id: rowId,
  label: z.string(),
  isPrimary: z.boolean(),
  failCount: count,
  lockedUntil: time.nullable(),
  createdAt: time,
  lastUsed: time.nullable(),
};

const method = z.discriminatedUnion('method', [
  z.strictObject({ ...commonFields, method: z.literal('sms'), phoneNumber: z.string() }),
  z.strictObject({
    ...commonFields,
    method: z.literal('totp'),
    totpSecret: z.string().nullable(),
    lastStep: z.number().nullable(),
  }),
]);

const proof = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('login') }),
  z.strictObject({ type: z.literal('email'), code: z.string() }),
  z.strictObject({
    type: z.literal('sms'),
    code: z.string(),
    phoneNumber: z.string(),
    methodId: rowId.nullable(),
  }),
  z.strictObject({ type: z.literal('totp'), methodId: rowId }),
]);

export const tfaAccount = z.strictObject({
  id: rowId,
  billingBlacklisted: z.boolean(),
  methods: z.array(method),
  backupCodes: z.array(
    z.strictObject({ code: z.string(), usedAt: time.nullable(), deletedAt: time.nullable() }),
  ),
  challenges: z.array(
    z.strictObject({ secret: z.string(), proof, createdAt: time, sentAt: time.nullable() }),
  ),
  smsSends: z.array(z.strictObject({ at: time, phoneNumber: z.string() })),
  pendingAuthorization: z.string().nullable(),
  authorizedUntil: time.nullable(),
}) satisfies z.ZodType<TfaAccount>;

export const sentCode = z.strictObject({
  id: rowId,
  at: time,
  channel: z.enum(['email', 'sms']),
  to: z.string(),
  code: z.string(),
}) satisfies z.ZodType<SentCode>;
