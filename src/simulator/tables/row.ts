import * as z from 'zod';
import { isObject, type Json, type JsonObject } from '../json.ts';

/*
 * Common fields of all tables. A file of this folder declares the rows of a resource: a schema, which checks external
 * input (`PUT /sim/world`), and the type derived from it. All times are milliseconds of simulated time since the
 * epoch. PURE.
 */

/** The id of a row, or of a referenced row. */
export const rowId = z.int().min(0);
/** Milliseconds since the epoch; later dates have no four-digit year, which HTTP requires. */
export const time = z
  .number()
  .min(0)
  .max(Date.UTC(9999, 11, 31));
export const amount = z.number().min(0);
export const count = z.int().min(0);
/** Any JSON object. */
export const jsonObject = z.custom<JsonObject>((value) => isObject(value as Json), { error: 'an object' });

/** The type of a schema's values. Rows are never changed in place, so every field and list is readonly. */
export type Row<S extends z.ZodType> = DeepReadonly<z.infer<S>>;

/** Records stay as they are: their values are never changed either. */
type DeepReadonly<T> = T extends readonly unknown[]
  ? { readonly [I in keyof T]: DeepReadonly<T[I]> }
  : T extends object
    ? string extends keyof T
      ? Readonly<T>
      : { readonly [F in keyof T]: DeepReadonly<T[F]> }
    : T;
