import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** A value that no log, error, JSON or string shows. Only {@link Secret.reveal} returns it. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  /** Returns the value itself: for a header, a Secret's data or a prompt, never for text for people. */
  reveal(): string {
    return this.#value;
  }
  /** Returns true if both hold the same value. */
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
