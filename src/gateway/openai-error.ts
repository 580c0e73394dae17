import type { Reply } from './ext-proc.ts';

/** A reply of the gateway itself. */
export interface GatewayError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Seconds until a retry; absent: a retry is useless. */
  readonly retryAfterSeconds?: number;
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'invalid_request_error',
  408: 'invalid_request_error',
};

/** Returns the reply in the form of the OpenAI API: body, `Retry-After` and `x-should-retry`. */
export function errorReply({ status, code, message, retryAfterSeconds }: GatewayError): Reply {
  const type = TYPES[status] ?? 'service_unavailable';
  return {
    type: 'reply',
    status,
    headers: {
      'content-type': 'application/json',
      'x-should-retry': String(retryAfterSeconds !== undefined),
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    },
    body: `${JSON.stringify({ error: { message, type, param: null, code } })}\n`,
  };
}
