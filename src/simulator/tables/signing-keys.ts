import * as z from 'zod';
import { type Row, rowId } from './row.ts';

/** The RSA pair with which routes are signed, in PEM. */
export const signingKeyRow = z.strictObject({
  id: rowId,
  publicPem: z.string(),
  privatePem: z.string(),
});
export type SigningKey = Row<typeof signingKeyRow>;
