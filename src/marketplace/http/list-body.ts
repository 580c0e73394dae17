import type { z } from 'zod';
import { breathing } from '../../lib/breathing.ts';
import type { Clock } from '../../lib/clock.ts';
import { JsonListError, JsonListSplitter } from '../../lib/json-list.ts';
import type { TransportResponse } from '../../lib/transport.ts';
import {
  boundedChunks,
  decode,
  firstIssue,
  isSuccess,
  type ReplyText,
  readBody,
  UnreadableBody,
} from './read-body.ts';

/** Decodes whole texts only, so that it is as new for each of them. */
const DECODER = new TextDecoder('utf-8', { fatal: true });

/** A row may be sent with texts that are not kept of it; so many times the bytes that may be kept may come in all. */
const MAX_SENT_PER_KEPT = 16;

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
  #keptBytes = 0;
  readonly #of: RowsOf<Row>;

  constructor(of: RowsOf<Row>) {
    this.#of = of;
  }

  /** What was kept of each row, in the order of the list; complete once {@link read} has resolved readable. */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** As {@link readBody}; a body that holds no list of such rows is told as `unreadable`. */
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
      for await (const chunk of breathing(sent, clock)) {
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
    this.#keptBytes += JSON.stringify(parsed.data)?.length ?? 0;
    if (this.#keptBytes > maxBytes) throw tooLong(maxBytes);
    this.#rows.push(parsed.data);
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
