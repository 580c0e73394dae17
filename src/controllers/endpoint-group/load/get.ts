import { type Clock, sleep } from '../../../lib/clock.ts';
import type { MutualTls } from '../../../lib/mutual-tls.ts';
import type { Transport, TransportResponse } from '../../../lib/transport.ts';
import { SourceError } from './state.ts';

/** Maximum size of a reply about load. */
export const MAX_REPLY_BYTES = 1_048_576;

export interface BoundedGet {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Limit for the whole reply. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Identity that the peer must prove, and the certificate of the operator. Without it the peer proves nothing. */
  readonly tls?: MutualTls;
  /** Returns the operator's text for a failed request; undefined for an unknown cause. */
  readonly explain?: (cause: unknown) => string | undefined;
}

/**
 * Resolves with the text of a 200 reply within time and size. Follows no redirect. Rejects with a
 * {@link SourceError}.
 */
export async function boundedGet(get: BoundedGet): Promise<string> {
  const ending = new AbortController();
  const tooLate = sleep(get.clock, get.timeoutMs, ending.signal).then(
    () => {
      throw new SourceError(`no answer within ${get.timeoutMs} ms`);
    },
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([textOf(get, ending.signal), tooLate]);
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(get.explain?.(error) ?? 'unreachable');
  } finally {
    ending.abort(new SourceError('timeout'));
  }
}

async function textOf(get: BoundedGet, signal: AbortSignal): Promise<string> {
  const { transport, origin, path, headers, tls } = get;
  const response = await transport({ method: 'GET', origin, path, headers, signal, ...(tls && { tls }) });
  if (response.status !== 200) {
    response.destroy();
    throw new SourceError(`HTTP ${response.status}`);
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
      throw new SourceError(`the reply is longer than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
