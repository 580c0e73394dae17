import { type Clock, sleep } from '../../../lib/clock.ts';
import type { Transport, TransportResponse } from '../../../lib/transport.ts';
import { SourceError } from './state.ts';

export interface BoundedGet {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the whole reply. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Says in our own words why no reply came, where it knows. */
  readonly explain?: (cause: unknown) => string | undefined;
}

/** The text of a 200 reply within time and size. Redirects are not followed. Rejects with {@link SourceError}. */
export async function boundedGet(get: BoundedGet): Promise<string> {
  const ending = new AbortController();
  const tooLate = sleep(get.clock, get.timeoutMs, ending.signal).then(
    () => {
      throw new SourceError(`it did not answer within ${get.timeoutMs} ms`);
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([textOf(get, ending.signal), tooLate]);
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(get.explain?.(error) ?? 'it cannot be reached');
  } finally {
    ending.abort(new SourceError('the time is over'));
  }
}

async function textOf(get: BoundedGet, signal: AbortSignal): Promise<string> {
  const { transport, origin, path, headers } = get;
  const response = await transport({ method: 'GET', origin, path, headers, signal });
  if (response.status !== 200) {
    response.destroy();
    throw new SourceError(`it answered ${response.status}`);
  }
  return bodyOf(response, get.maxBytes);
}

async function bodyOf(response: TransportResponse, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      response.destroy();
      throw new SourceError(`its reply is longer than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What Node's code of a refused certificate means, and what to do. */
const KNOWN: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; look at the clocks of both sides',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; write a name that the certificate carries into --prometheus-url',
};

const UNTRUSTED =
  'no authority that is trusted has signed its certificate; name the PEM of its authority with --prometheus-ca';

const UNTRUSTED_CODES: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_CHAIN_TOO_LONG',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_CA',
  'INVALID_PURPOSE',
]);

/** Why the certificate of Prometheus was refused, with the remedy; undefined where something else went wrong. */
export function certificateProblem(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (UNTRUSTED_CODES.has(code)) return UNTRUSTED;
    if (Object.hasOwn(KNOWN, code)) return KNOWN[code];
  }
  return undefined;
}
