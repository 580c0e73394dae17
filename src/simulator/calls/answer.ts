/** A request as it reaches the service, from a socket or from the same process. */
export interface SimRequest {
  readonly method: string;
  /** Path with query, as sent. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined if none came; bytes as a socket gives them. */
  readonly body: string | Uint8Array | undefined;
  /** Who asks, for rate limits without a key. */
  readonly address: string;
  /** Scheme, host and port that the caller used. */
  readonly origin: string;
}

/** What becomes of a request. `reset` breaks the connection; `sent` false means before a byte arrived. */
export type Answer =
  | {
      readonly type: 'reply';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | Uint8Array;
    }
  | {
      readonly type: 'stream';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly chunks: AsyncIterable<Uint8Array>;
    }
  | { readonly type: 'reset'; readonly sent: boolean };

/** An answer that arrives whole. */
export type HttpReply = Extract<Answer, { type: 'reply' }>;

/** Content type of every JSON reply: a parameter makes some clients discard it. */
export const JSON_TYPE = 'application/json';
