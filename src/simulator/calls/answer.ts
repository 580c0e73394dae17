/** A request to the service, from a socket or from the same process. */
export interface SimRequest {
  readonly method: string;
  /** Path with query, unchanged. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undefined without a body; bytes from a socket. */
  readonly body: string | Uint8Array | undefined;
  /** Address of the caller, for rate limits without a key. */
  readonly address: string;
  /** Scheme, host and port that the caller used. */
  readonly origin: string;
}

/** Result of a request. `reset` breaks the connection; `sent` false means before any byte arrived. */
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

/** A complete answer. */
export type HttpReply = Extract<Answer, { type: 'reply' }>;

/** Content type of every JSON reply: a parameter makes some clients discard it. */
export const JSON_TYPE = 'application/json';
