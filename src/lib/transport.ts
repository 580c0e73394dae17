import type { Dispatcher } from 'undici';
import type { MutualTls } from './mutual-tls.ts';

/** One HTTP request, complete: nothing below this level adds headers, retries or follows redirects. */
export interface TransportRequest {
  readonly method: string;
  /** Scheme, host and port, e.g. `https://console.example`. */
  readonly origin: string;
  /** Path with query, as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Obeyed by the transport to workers alone, which then takes nobody else for the other end. */
  readonly tls?: MutualTls;
}

/** The head of a reply and its body as it arrives. The body must be read to its end or destroyed. */
export interface TransportResponse {
  readonly status: number;
  /** Names in lower case; a repeated header is joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives the connection up without reading the rest. */
  destroy(): void;
}

/**
 * The only door to a network. It resolves with any status that arrived and rejects with
 * {@link TransportError} where none did. Simulation replaces it, so everything above runs unchanged there.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/**
 * No reply. `sent` false: not one byte left, so the server cannot have acted. `sent` true: it may have.
 */
export class TransportError extends Error {
  readonly sent: boolean;
  constructor(message: string, options: { sent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'TransportError';
    this.sent = options.sent;
  }
}

/** Set once a byte of the request may have left. */
export interface SentMark {
  sent: boolean;
}

/** undici starts a request right before its first byte is written: until then the server cannot have acted. */
export function marking(handler: Dispatcher.DispatchHandler, mark: SentMark): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      handler.onRequestStart?.(controller, context);
      if (!controller.aborted) mark.sent = true;
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  };
}

/** Names as undici gives them, in lower case; a repeated header is joined by `, `. */
export function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** The body as it arrives; where it breaks off, that is a {@link TransportError} of a request that was sent. */
export async function* bodyOf(
  body: AsyncIterable<Uint8Array>,
  brokenOff: (cause: unknown) => string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (cause) {
    throw new TransportError(brokenOff(cause), { sent: true, cause });
  }
}
