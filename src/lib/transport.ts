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
