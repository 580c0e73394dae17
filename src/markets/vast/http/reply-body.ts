import type { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { yieldingChunks } from '../../../lib/event-loop.ts';
import { JsonListError, JsonListSplitter } from '../../../lib/json-list.ts';
import type { TransportResponse } from '../../../lib/transport.ts';
import { UnreadableBody } from '../errors/classify-failure.ts';

/** The text of a reply's body. */
export interface ReplyText {
  readonly body: string;
  /** Why the body is none that we accept, in words for an error. */
  readonly unreadable?: string;
}

/**
 * The whole body as text. Gives the connection up at the first byte over `maxBytes` (counted after
 * decompression) or at the first byte that is not UTF-8. Rejects with what the transport throws if the
 * connection breaks.
 */
export async function readBody(response: TransportResponse, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  try {
    for await (const chunk of boundedChunks(response, maxBytes))
      text += decode(decoder, chunk, { stream: true });
    return text + decode(decoder);
  } catch (error) {
    response.destroy();
    throw error;
  }
}

/** The body's bytes as they come, up to the first over `maxBytes`: then it rejects with {@link UnreadableBody}. */
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
 * Text by a fatal decoder: of a whole text, or with `stream` of a part whose last character may follow. Throws
 * UnreadableBody for bytes that are not UTF-8.
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

/** What a reply turned out to be. */
export type ParsedReply<T> =
  | { readonly type: 'understood'; readonly value: T }
  /** A failing status, or `success: false`. */
  | { readonly type: 'failed' }
  | { readonly type: 'unreadable'; readonly reason: string };

/** Whether a status says that the call was carried out. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** Judges a reply by its status, by `success`, and by its schema. */
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

/** Where the first thing that is wrong stands, below `root`. Our own words and the path alone, never a value. */
export function firstIssue(error: z.ZodError, root: readonly PropertyKey[] = []): string {
  const issue = error.issues[0];
  const path = [...root, ...(issue?.path ?? [])].filter(
    (step) => typeof step === 'number' || OUR_NAMES.test(String(step)),
  );
  return `the field "${path.join('.')}" is not as expected (${issue?.code ?? 'unknown'})`;
}

/** Decodes whole texts only, so that it is as new for each of them. */
const DECODER = new TextDecoder('utf-8', { fatal: true });

/** A row may be sent with texts that are not kept of it; so many times the bytes that may be kept may come in all. */
const MAX_SENT_PER_KEPT = 16;

/** What is kept is not counted before that part of what it may be was sent: names are longer here, and defaults added. */
const UNCOUNTED_PART = 8;

/** Rows of a list that may be long: the name they stand under, and what is kept of each. */
export interface RowsOf<Row> {
  readonly key: string;
  readonly row: z.ZodType<Row>;
}

/**
 * Reads the body of a list row by row, so that a thousand machines are never in memory in the service's words at
 * once. The text that is left is the reply with the list empty. `maxBytes` bounds what is kept, and each row as it is
 * sent; of the rest (environments and scripts of machines) as much may come as {@link MAX_SENT_PER_KEPT} allows. For one
 * reply.
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

  /** What was kept of each row, in the order of the list; complete once {@link read} has resolved readable. */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** As {@link readBody}, and rejects as it does; a body that holds no list of such rows resolves as `unreadable`. */
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

  /** Bytes of what is kept; counted only where it may be too much. */
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
