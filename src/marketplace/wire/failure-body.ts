import * as z from 'zod';
import { looseBoolean, looseInteger, looseNumber, looseText } from './scalars.ts';

/**
 * Body of a failure (specification 7), in every spelling that services use: `error` with `msg`,
 * `detail` or `error_msg` alone, `success: false` with status 200.
 */
export const failureBody = z.object({
  success: looseBoolean,
  error: looseText,
  msg: looseText,
  detail: looseText,
  error_msg: looseText,
  fail_count: looseInteger,
  locked_until: looseNumber,
  /** Seen on failures of a rent whose machine was made all the same. */
  new_contract: looseInteger,
});

/** A failure as it arrives. */
export type WireFailure = z.infer<typeof failureBody>;

/** Reply of a change that says nothing but how it went. */
export const changeReply = z
  .object({ success: looseBoolean, msg: looseText })
  // Some services answer a bare string, a list or nothing.
  .catch({ success: undefined, msg: undefined });
