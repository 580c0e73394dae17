import { MalformedReplyError, parseJson } from './json-stream.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const ITEMS_KEY = /"items"\s*:\s*$/;

/** Where the bytes between the brackets of `items` lie, and an item between its braces. */
const ITEMS_DEPTH = 2;

/**
 * Cuts a JSON list into its items while it arrives, so that each is parsed by itself and no parse takes longer than
 * its own object. The rest of the list, with `items` empty, is its envelope.
 */
export class ItemSplitter {
  readonly #onItem: (item: unknown) => void;
  readonly #envelope: Buffer[] = [];
  #item: Buffer[] = [];
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inItems = false;

  /** `onItem` is called for each item in its order, while {@link push} runs. */
  constructor(onItem: (item: unknown) => void) {
    this.#onItem = onItem;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#inString) {
        at = this.#skipString(chunk, at);
      } else if (byte === QUOTE) {
        this.#inString = true;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        start = this.#open(chunk, start, at);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        start = this.#close(chunk, start, at);
      }
    }
    this.#keep(chunk.subarray(start));
  }

  /** What stood around the items. Throws where the list broke off. */
  end(): unknown {
    if (this.#depth !== 0 || this.#envelope.length === 0) {
      throw new MalformedReplyError('The API server sent a list that breaks off');
    }
    return parseJson(Buffer.concat(this.#envelope).toString('utf8'));
  }

  /** Index of the last byte that belongs to the string, or of the chunk. */
  #skipString(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      if (this.#escaped) {
        this.#escaped = false;
      } else if (chunk[at] === BACKSLASH) {
        this.#escaped = true;
      } else if (chunk[at] === QUOTE) {
        this.#inString = false;
        return at;
      }
    }
    return chunk.length;
  }

  #open(chunk: Buffer, start: number, at: number): number {
    this.#depth++;
    if (this.#inItems) {
      // Commas and spaces between items belong to nobody.
      return this.#depth === ITEMS_DEPTH + 1 ? at : start;
    }
    if (this.#depth !== ITEMS_DEPTH || chunk[at] !== OPEN_ARRAY) return start;
    this.#envelope.push(chunk.subarray(start, at + 1));
    this.#inItems = ITEMS_KEY.test(this.#envelopeTail());
    return at + 1;
  }

  #close(chunk: Buffer, start: number, at: number): number {
    this.#depth--;
    if (!this.#inItems) return start;
    if (this.#depth === ITEMS_DEPTH) {
      this.#item.push(chunk.subarray(start, at + 1));
      const text = Buffer.concat(this.#item).toString('utf8');
      this.#item = [];
      this.#onItem(parseJson(text));
      return at + 1;
    }
    if (this.#depth > ITEMS_DEPTH) return start;
    this.#inItems = false;
    return at;
  }

  /** The envelope's end without its last bracket; a key may lie across chunks. */
  #envelopeTail(): string {
    let tail = '';
    for (let piece = this.#envelope.length - 1; piece >= 0 && tail.length <= 64; piece--) {
      tail = (this.#envelope[piece]?.subarray(-65).toString('latin1') ?? '') + tail;
    }
    return tail.slice(0, -1);
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0) return;
    if (!this.#inItems) this.#envelope.push(rest);
    else if (this.#depth > ITEMS_DEPTH) this.#item.push(rest);
  }
}
