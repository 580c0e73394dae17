import type { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { yieldingChunks } from '../../../lib/event-loop.ts';
import { JsonListError, JsonListSplitter } from '../../../lib/json-list.ts';
import type { TransportResponse } from '../../../lib/transport.ts';
import { UnreadableBody } from '../errors/classify-failure.ts';

/** The text of a reply's body. */
export interface ReplyText {
  readonly body: string;
  /** Reason why the body is unacceptable, as text of an error. */
  readonly unreadable?: string;
}

/**
 * Returns the whole body as text. Closes the connection at the first byte over `maxBytes` (after decompression) or at
 * the first byte that is not UTF-8. Rejects with the transport's error if the connection breaks.
 */
export async function readBody(response: TransportResponse, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return decoded(response, maxBytes, (chunk) =>
    chunk ? decode(decoder, chunk, { stream: true }) : decode(decoder),
  );
}

/**
 * Returns the output of a program as {@link readBody} returns a body. Bytes that are not UTF-8 become U+FFFD: any
 * program may print them.
 */
export async function readOutput(response: TransportResponse, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return decoded(response, maxBytes, (chunk) => decoder.decode(chunk, { stream: chunk !== undefined }));
}

async function decoded(
  response: TransportResponse,
  maxBytes: number,
  decodeChunk: (chunk?: Uint8Array) => string,
): Promise<string> {
  let text = '';
  try {
    for await (const chunk of boundedChunks(response, maxBytes)) text += decodeChunk(chunk);
    return text + decodeChunk();
  } catch (error) {
    response.destroy();
    throw error;
  }
}

/**
 * Yields the body's bytes as they arrive, up to the first one over `maxBytes`: then it rejects with
 * {@link UnreadableBody}.
 */
export async function* boundedChunks(
  response: TransportResponse,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new UnreadableBody(`the reply is longer than ${maxBytes} bytes`);
    yield chunk;
  }
}

/**
 * Returns the text by a fatal decoder: of a whole text, or with `stream` of a part whose last character may be
 * incomplete. Throws UnreadableBody for bytes that are not UTF-8.
 */
export function decode(
  decoder: TextDecoder,
  bytes?: Uint8Array,
  options?: { readonly stream: true },
): string {
  try {
    return decoder.decode(bytes, options);
  } catch {
    throw new UnreadableBody('the reply is not UTF-8 text');
  }
}

/** Result of parsing a reply. */
export type ParsedReply<T> =
  | { readonly type: 'understood'; readonly value: T }
  /** A failing status, or `success: false`. */
  | { readonly type: 'failed' }
  | { readonly type: 'unreadable'; readonly reason: string };

/** Returns true if a status means that the call was carried out. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** Parses a reply by its status, by `success`, and by its schema. */
export function parseReply<Schema extends z.ZodType>(
  reply: { readonly status: number; readonly body: string },
  schema: Schema,
): ParsedReply<z.infer<Schema>> {
  if (!isSuccess(reply.status)) return { type: 'failed' };
  let json: unknown;
  try {
    json = reply.body === '' ? {} : JSON.parse(reply.body);
  } catch {
    return { type: 'unreadable', reason: 'it is not JSON' };
  }
  if (isFailure(json)) return { type: 'failed' };
  const parsed = schema.safeParse(json);
  if (parsed.success) return { type: 'understood', value: parsed.data };
  return { type: 'unreadable', reason: firstIssue(parsed.error) };
}

const OUR_NAMES = /^[a-z_0-9]{1,40}$/;

function isFailure(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'success' in json && json.success === false;
}

/** Returns the path of the first error, below `root`, in this program's words and without any value. */
export function firstIssue(error: z.ZodError, root: readonly PropertyKey[] = []): string {
  const issue = error.issues[0];
  const path = [...root, ...(issue?.path ?? [])].filter(
    (step) => typeof step === 'number' || OUR_NAMES.test(String(step)),
  );
  return `the field "${path.join('.')}" is not as expected (${issue?.code ?? 'unknown'})`;
}

/** Decodes whole texts only, so it keeps no state between them. */
const DECODER = new TextDecoder('utf-8', { fatal: true });

/** Maximum ratio of received to kept bytes: a row may contain long texts that are dropped. */
const MAX_SENT_PER_KEPT = 16;

/**
 * Part of the limit that must arrive before the kept bytes are counted. They may be more than the received ones: names
 * are longer and defaults are added.
 */
const UNCOUNTED_PART = 8;

/** Rows of a list that may be long: their key, and the kept part of each. */
export interface RowsOf<Row> {
  readonly key: string;
  readonly row: z.ZodType<Row>;
}

/**
 * Reads the body of a list row by row, so that a thousand machines are never in memory in wire form at the same time.
 * The remaining text is the reply with an empty list. `maxBytes` limits the kept bytes, and each row on the wire; the
 * dropped rest (environments and scripts of machines) is limited by {@link MAX_SENT_PER_KEPT}. Use it for one reply.
 */
export class ListBody<Row> {
  readonly #rows: Row[] = [];
  #sentBytes = 0;
  #countedRows = 0;
  #keptBytes = 0;
  readonly #of: RowsOf<Row>;

  constructor(of: RowsOf<Row>) {
    this.#of = of;
  }

  /** The kept parts of the rows, in the order of the list; complete once {@link read} has resolved as readable. */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** Reads and rejects like {@link readBody}; a body without a list of such rows resolves as `unreadable`. */
  async read(
    response: TransportResponse,
    { maxBytes, clock }: { readonly maxBytes: number; readonly clock: Clock },
  ): Promise<ReplyText> {
    if (!isSuccess(response.status)) return { body: await readBody(response, maxBytes) };
    const splitter = new JsonListSplitter({
      key: this.#of.key,
      onItem: (item) => this.#keep(item, maxBytes),
    });
    const sent = boundedChunks(response, maxBytes * MAX_SENT_PER_KEPT);
    try {
      for await (const chunk of yieldingChunks(sent, clock)) {
        splitter.push(chunk);
        if (splitter.pendingBytes > maxBytes) throw tooLong(maxBytes);
      }
      return { body: decode(DECODER, splitter.end()) };
    } catch (error) {
      response.destroy();
      if (error instanceof JsonListError) return { body: '', unreadable: error.message };
      throw error;
    }
  }

  #keep(item: Buffer, maxBytes: number): void {
    if (item.length > maxBytes) throw tooLong(maxBytes);
    const parsed = this.#of.row.safeParse(jsonOf(decode(DECODER, item)));
    if (!parsed.success) throw new JsonListError(firstIssue(parsed.error, [this.#of.key, this.#rows.length]));
    this.#rows.push(parsed.data);
    this.#sentBytes += item.length;
    if (this.#sentBytes > maxBytes / UNCOUNTED_PART && this.#kept() > maxBytes) throw tooLong(maxBytes);
  }

  /** Returns the number of kept bytes; it is only counted when it may exceed the limit. */
  #kept(): number {
    for (const row of this.#rows.slice(this.#countedRows))
      this.#keptBytes += JSON.stringify(row)?.length ?? 0;
    this.#countedRows = this.#rows.length;
    return this.#keptBytes;
  }
}

function tooLong(maxBytes: number): UnreadableBody {
  return new UnreadableBody(`the reply is longer than ${maxBytes} bytes`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonListError('it is not JSON');
  }
}
