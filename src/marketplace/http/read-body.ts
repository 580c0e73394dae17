import type { z } from 'zod';
import type { TransportResponse } from '../../lib/transport.ts';

/** A body that is no text we accept: too long, or not UTF-8. */
export class UnreadableBody extends Error {}

/** The text of a reply's body. */
export interface ReplyText {
  readonly body: string;
  /** Why the body is none that we accept, in words for an error. */
  readonly unreadable?: string;
}

/**
 * The whole body as text. Gives the connection up at the first byte over `maxBytes` (counted after
 * decompression) or at the first byte that is not UTF-8. Rejects with what the transport throws where the
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

/** The body's bytes as they come, up to the first over `maxBytes`, where it rejects with {@link UnreadableBody}. */
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

/** Text by a fatal decoder: of a whole text, or with `stream` of a part whose last character may follow. */
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
  if (saysFailure(json)) return { type: 'failed' };
  const parsed = schema.safeParse(json);
  if (parsed.success) return { type: 'understood', value: parsed.data };
  return { type: 'unreadable', reason: firstIssue(parsed.error) };
}

const OUR_NAMES = /^[a-z_0-9]{1,40}$/;

function saysFailure(json: unknown): boolean {
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
