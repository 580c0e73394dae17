import type { Dispatcher } from 'undici';
import type { MutualTls } from './mutual-tls.ts';

/** A complete HTTP request: no layer below adds headers, retries or follows redirects. */
export interface TransportRequest {
  readonly method: string;
  /** Scheme, host and port, e.g. `https://console.example`. */
  readonly origin: string;
  /** Path and query, unchanged on the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Only the transport to workers uses it; that transport then accepts no other server. */
  readonly tls?: MutualTls;
}

/** The head of a reply and its body as it arrives. The body must be read to its end or destroyed. */
export interface TransportResponse {
  readonly status: number;
  /** Names in lower case; a repeated header is joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Closes the connection without reading the rest. */
  destroy(): void;
}

/**
 * The only access to a network. It resolves with any received status and rejects with {@link TransportError} without
 * one. Simulation replaces it and runs all layers above unchanged.
 */
export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

/**
 * The request got no reply. `sent` false: no byte was sent, so the server cannot have acted. `sent` true: the server
 * may have acted.
 */
export class TransportError extends Error {
  readonly sent: boolean;
  constructor(message: string, options: { sent: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'TransportError';
    this.sent = options.sent;
  }
}

/** Set when a byte of the request may have been sent. */
export interface SentMark {
  sent: boolean;
}

/**
 * Sets the mark when undici starts a request, right before its first byte is written: until then the server cannot have
 * acted.
 */
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

/** Returns the headers from undici, with names in lower case; a repeated header is joined by `, `. */
export function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

/** Yields the body as it arrives. If it breaks off, it throws a {@link TransportError} of a sent request. */
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
