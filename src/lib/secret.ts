import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** A value that no log, error, JSON or string can show. Only {@link Secret.reveal} gives it out. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  /** The value itself: for a header, a Secret's data or a prompt, never for text that people read. */
  reveal(): string {
    return this.#value;
  }
  /** Whether both hold the same value. */
  equals(other: Secret): boolean {
    return this.#value === other.#value;
  }
  toString(): string {
    return REDACTED;
  }
  toJSON(): string {
    return REDACTED;
  }
  [inspect.custom](): string {
    return REDACTED;
  }
}
