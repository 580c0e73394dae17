import * as z from 'zod';
import { CHANGES, FAULTS } from '../fault-catalogue.ts';
import { contractRow } from './contracts.ts';
import { amount, count, type Row, rowId, time } from './row.ts';

/** A requested fault that is not used up. */
export const faultRow = z.strictObject({
  id: rowId,
  name: z.enum(Object.keys(FAULTS)),
  endpoint: z.string().nullable(),
  remaining: count.nullable(),
  probability: z.number().min(0).max(1).nullable(),
  seconds: amount.nullable(),
  instance: rowId.nullable(),
  host: rowId.nullable(),
  createdAt: time,
  /** Time at which it ends by itself; null if count or deletion ends it. */
  expiresAt: time.nullable(),
  /** Change of a `wrong-field`; null parts are random. */
  wrong: z
    .strictObject({
      field: z.string().nullable(),
      change: z.enum(CHANGES).nullable(),
      value: z.union([z.string(), z.number(), z.boolean(), z.null()]).exactOptional(),
    })
    .exactOptional(),
  /** Contracts at the time when a `stale-list`, or a `stale` field, was set. */
  snapshot: z.array(contractRow).exactOptional(),
  /** Ids that a fault of the world affected when it was set. */
  targets: z.strictObject({ contracts: z.array(rowId), machines: z.array(rowId) }).exactOptional(),
});
export type ActiveFault = Row<typeof faultRow>;
