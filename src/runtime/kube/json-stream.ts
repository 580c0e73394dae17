import { JoinedPieces } from '../../lib/json-list.ts';

/** The reply is not from an API server: broken JSON, or too many bytes. */
export class MalformedReplyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MalformedReplyError';
  }
}

const NEWLINE = 0x0a;

/** Parses JSON. Throws a {@link MalformedReplyError} for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MalformedReplyError('The API server sent broken JSON', { cause });
  }
}

/**
 * Returns the whole body as text. Rejects with a {@link MalformedReplyError} if it has more than `maxBytes`, and if the
 * body does.
 */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw new MalformedReplyError(`The API server sent more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return textOf(chunks);
}

/** Returns the text of the chunks; most replies and events have one chunk. */
function textOf(chunks: readonly Uint8Array[]): string {
  const [first, ...rest] = chunks;
  if (!first) return '';
  const bytes = rest.length > 0 ? Buffer.concat(chunks) : first;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

/**
 * Yields non-empty lines, without their ends. A last line without an end belongs to a truncated reply and is dropped.
 * Throws a {@link MalformedReplyError} for a line of more than `maxBytes`.
 */
export async function* splitLines(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string> {
  const joined = new JoinedPieces();
  let pending: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      pending.push(chunk.subarray(start, end));
      const line = joined.of(pending).toString('utf8');
      pending = [];
      size = 0;
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > maxBytes)
      throw new MalformedReplyError(`The API server sent a line of more than ${maxBytes} bytes`);
  }
}
