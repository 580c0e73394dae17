import type { z } from 'zod';
import type { Answer, Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';

/** One 2FA call, without what is the same for all. */
export interface TfaCall<Schema extends z.ZodType> {
  readonly operation: string;
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v0/tfa/`, with its final slash. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly reply: Schema;
  readonly bounds: CallOptions | undefined;
}

/** Sends a 2FA write. It leaves once: a repeated wrong code would count towards the lockout. */
export function sendTfa<Schema extends z.ZodType>(
  requester: Requester,
  { path, ...call }: TfaCall<Schema>,
): Promise<Answer<z.infer<Schema>>> {
  return requester.send({
    ...call,
    path: `/api/v0/tfa/${path}`,
    endpointClass: 'account',
    area: 'tfa',
    effect: 'write',
  });
}
