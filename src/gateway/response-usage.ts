import type { ReadUsage } from './access-log.ts';

/** The part of a response's head that decides how it is read. */
export interface ResponseHead {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
}

const TAIL_BYTES = 16_384;
const USAGE = /[{,\s]"usage"\s*:\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})/g;
const DONE = /\ndata:\s*\[DONE\]/;
const EVENT = '\ndata:';

/**
 * The tokens of a response that passes through the picker, read like Envoy's Lua filter does: by the `usage` at its
 * end, and by its events without one.
 */
export class ResponseUsage {
  readonly #isStream: boolean;
  readonly #isReadable: boolean;
  #tail = '';
  #edge = '\n';
  #events = 0;
  /** A proxy that sends no bodies reveals no usage. */
  #hasRead = false;

  constructor({ contentType, contentEncoding }: ResponseHead) {
    this.#isReadable = contentEncoding === undefined || contentEncoding === 'identity';
    this.#isStream = this.#isReadable && (contentType ?? '').includes('text/event-stream');
  }

  /** Adds the next part, which may end anywhere. */
  push(chunk: Uint8Array): void {
    if (!this.#isReadable || chunk.length === 0) return;
    this.#hasRead = true;
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    if (this.#isStream) {
      const seam = this.#edge + text;
      this.#events += seam.split(EVENT).length - 1;
      this.#edge = seam.slice(-(EVENT.length - 1));
    }
    const tail = this.#tail + text;
    // At intervals: each chunk of a stream is short.
    this.#tail = tail.length > 2 * TAIL_BYTES ? tail.slice(-TAIL_BYTES) : tail;
  }

  /** Returns the usage so far. */
  read(): ReadUsage | undefined {
    const [usage] = [...this.#tail.matchAll(USAGE)].slice(-1);
    const tokens = usage?.[1] === undefined ? undefined : tokensOf(usage[1]);
    if (tokens !== undefined) return { tokens, events: undefined };
    if (!this.#isStream || !this.#hasRead) return undefined;
    return { tokens: undefined, events: this.#events - (DONE.test(this.#tail) ? 1 : 0) };
  }
}

function tokensOf(usage: string): number | undefined {
  const count = (key: string): number | undefined => {
    const digits = new RegExp(`"${key}"\\s*:\\s*(\\d{1,9})\\b`).exec(usage)?.[1];
    return digits === undefined ? undefined : Number(digits);
  };
  const total = count('total_tokens');
  const input = count('prompt_tokens') ?? count('input_tokens');
  if (total !== undefined || input === undefined) return total;
  return input + (count('completion_tokens') ?? count('output_tokens') ?? 0);
}
