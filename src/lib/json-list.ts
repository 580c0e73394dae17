const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Depth of the bytes between the brackets of the list; the bytes of an item are one deeper. */
const ITEMS_DEPTH = 2;

const NOTHING = /^[ \t\r\n]*$/;
const ONE_COMMA = /^[ \t\r\n]*,[ \t\r\n]*$/;

/**
 * Minimum length in bytes from which a string is searched by windows: much faster than by bytes, but slower in short
 * strings.
 */
const LONG_STRING = 256;
const WINDOW = 4096;

/** The bytes are not a JSON object that contains a list of objects. */
export class JsonListError extends Error {
  override readonly name = 'JsonListError';
}

export interface JsonListOptions {
  /** Name of the list in the outermost object, in its exact spelling. */
  readonly key: string;
  /**
   * Called with the bytes of each item in order, while {@link JsonListSplitter.push} runs. The bytes are only valid
   * during the call.
   */
  readonly onItem: (item: Buffer) => void;
}

/**
 * Cuts a JSON object with a long list into the list's items as it arrives, so that each item is parsed separately and
 * soon becomes garbage. The rest of the object, with the list empty, is its envelope. Between items only one comma is
 * accepted; the parser of an item checks that it is JSON.
 */
export class JsonListSplitter {
  readonly #onItem: (item: Buffer) => void;
  readonly #beforeList: RegExp;
  readonly #tailLength: number;
  readonly #envelope: Buffer[] = [];
  readonly #joined = new JoinedPieces();
  #item: Buffer[] = [];
  #gap = '';
  #items = 0;
  #pendingBytes = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inList = false;
  #hasList = false;

  constructor({ key, onItem }: JsonListOptions) {
    this.#onItem = onItem;
    this.#beforeList = new RegExp(`(?<!\\\\)"${key}"[ \\t\\r\\n]*:[ \\t\\r\\n]*$`);
    this.#tailLength = key.length + 64;
  }

  /** Adds a chunk. Throws a {@link JsonListError} at the first byte that proves that the text is not such an object. */
  push(chunk: Buffer): void {
    const { length } = chunk;
    let start = 0;
    let at = this.#inString ? this.#skipString(chunk, 0) + 1 : 0;
    for (; at < length; at++) {
      const byte = chunk[at];
      if (byte === QUOTE) {
        this.#inString = true;
        at = this.#skipString(chunk, at + 1);
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        start = this.#open(chunk, start, at);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        start = this.#close(chunk, start, at);
      }
    }
    this.#keep(chunk.subarray(start));
    this.#pendingBytes = this.#gap.length + bytesOf(this.#item) + bytesOf(this.#envelope);
  }

  /** Bytes in memory: the current item, and the envelope. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Returns the bytes of the envelope. Throws a {@link JsonListError} if the object is incomplete. */
  end(): Buffer {
    if (this.#depth !== 0 || this.#envelope.length === 0) throw new JsonListError('it breaks off');
    return Buffer.concat(this.#envelope);
  }

  /** Returns the index of the last byte that belongs to the string, or of the chunk. */
  #skipString(chunk: Buffer, from: number): number {
    const { length } = chunk;
    let searchFrom = from + LONG_STRING;
    let at = this.#escaped ? from + 1 : from;
    this.#escaped = false;
    while (at < length) {
      const byte = chunk[at];
      if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
      if (byte === BACKSLASH) {
        at += 2;
      } else if (at < searchFrom) {
        at += 1;
      } else {
        const end = plainUntil(chunk, at);
        searchFrom = end - at === WINDOW ? end : end + LONG_STRING;
        at = end;
      }
    }
    this.#escaped = at > length;
    return length;
  }

  #open(chunk: Buffer, start: number, at: number): number {
    this.#depth++;
    if (this.#inList) {
      if (this.#depth !== ITEMS_DEPTH + 1) return start;
      this.#endGap(chunk.subarray(start, at), this.#items === 0 ? NOTHING : ONE_COMMA);
      return at;
    }
    if (this.#depth !== ITEMS_DEPTH || chunk[at] !== OPEN_ARRAY) return start;
    this.#envelope.push(chunk.subarray(start, at + 1));
    this.#inList = this.#beforeList.test(this.#envelopeTail());
    if (this.#inList && this.#hasList) throw new JsonListError('it has the list twice');
    this.#hasList ||= this.#inList;
    return at + 1;
  }

  #close(chunk: Buffer, start: number, at: number): number {
    this.#depth--;
    if (!this.#inList || this.#depth > ITEMS_DEPTH) return start;
    if (this.#depth === ITEMS_DEPTH) {
      this.#item.push(chunk.subarray(start, at + 1));
      const pieces = this.#item;
      this.#item = [];
      this.#items++;
      this.#onItem(this.#joined.of(pieces));
      return at + 1;
    }
    this.#endGap(chunk.subarray(start, at), NOTHING);
    this.#inList = false;
    return at;
  }

  #endGap(rest: Buffer, allowed: RegExp): void {
    const gap = this.#gap + rest.toString('latin1');
    this.#gap = '';
    if (!allowed.test(gap)) throw new JsonListError('the list contains a value that is not an object');
  }

  /** Returns the envelope's end without its last bracket; a key may span chunks. */
  #envelopeTail(): string {
    let tail = '';
    for (let piece = this.#envelope.length - 1; piece >= 0 && tail.length < this.#tailLength; piece--) {
      tail = (this.#envelope[piece]?.subarray(-this.#tailLength).toString('latin1') ?? '') + tail;
    }
    return tail.slice(0, -1);
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0) return;
    if (!this.#inList) this.#envelope.push(rest);
    else if (this.#depth > ITEMS_DEPTH) this.#item.push(rest);
    else this.#gap += rest.toString('latin1');
  }
}

/** Returns the index of the first quote or backslash from here; the end of the window or the chunk if there is none. */
function plainUntil(chunk: Buffer, from: number): number {
  const window = chunk.subarray(from, from + WINDOW);
  const quote = window.indexOf(QUOTE);
  const plain = quote < 0 ? window : window.subarray(0, quote);
  const backslash = plain.indexOf(BACKSLASH);
  return from + (backslash < 0 ? plain.length : backslash);
}

/**
 * Pieces of a reply joined in reused memory: a copy of each large object would be garbage outside the heap, which is
 * collected late. The result is valid until the next call.
 */
export class JoinedPieces {
  #memory = Buffer.alloc(0);

  of(pieces: readonly Buffer[]): Buffer {
    const [first] = pieces;
    if (first !== undefined && pieces.length === 1) return first;
    const length = bytesOf(pieces);
    if (length > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.ceil(1.25 * length));
    let at = 0;
    for (const piece of pieces) at += piece.copy(this.#memory, at);
    return this.#memory.subarray(0, length);
  }
}

function bytesOf(pieces: readonly Buffer[]): number {
  let bytes = 0;
  for (const { length } of pieces) bytes += length;
  return bytes;
}
