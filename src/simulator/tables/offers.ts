import * as z from 'zod';
import { amount, type Row, rowId } from './row.ts';

/** Value of an offer's column. */
const column = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'a text, a number, true, false or null',
});
export type Column = Row<typeof column>;

/** A listing that can be rented once at a time. */
export const offerRow = z.strictObject({
  id: rowId,
  machineId: rowId,
  hostId: rowId,
  /** Contract that holds it now. */
  rentedBy: rowId.nullable(),
  gpuPricePerHour: amount,
  diskPricePerGBMonth: amount,
  minBidPerHour: amount,
  /** Columns in wire names that neither time, request nor caller changes. */
  columns: z.record(z.string(), column),
});
export type Offer = Row<typeof offerRow>;
