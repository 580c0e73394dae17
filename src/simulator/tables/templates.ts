import * as z from 'zod';
import { jsonObject, type Row, rowId, time } from './row.ts';

/** A template that a rental may name. */
export const templateRow = z.strictObject({
  id: rowId,
  userId: rowId,
  hashId: z.string(),
  name: z.string(),
  body: jsonObject,
  createdAt: time,
});
export type Template = Row<typeof templateRow>;
