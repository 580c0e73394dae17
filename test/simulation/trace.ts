import { createHash } from 'node:crypto';

/** Events in order, and a hash of all of them. Lines are kept only on request. */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly #lines: string[] = [];
  readonly #startMs: number;
  readonly #keep: boolean;

  constructor(options: { readonly startMs: number; readonly keep: boolean }) {
    this.#startMs = options.startMs;
    this.#keep = options.keep;
  }

  /** Adds a line under its virtual second. */
  add(nowMs: number, text: string): void {
    const line = `${((nowMs - this.#startMs) / 1000).toFixed(3).padStart(9)}  ${text}`;
    this.#hash.update(line);
    this.#hash.update('\n');
    if (this.#keep) this.#lines.push(line);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Returns the hash of all lines so far, sixteen hexadecimal digits. */
  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }
}
