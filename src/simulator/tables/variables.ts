import * as z from 'zod';
import { type Row, rowId, time } from './row.ts';

/** An environment variable of the account, given to every container and shown masked. */
export const variableRow = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  value: z.string(),
  updatedAt: time,
});
export type Variable = Row<typeof variableRow>;
