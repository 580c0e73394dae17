/** Maximum characters that are kept of a log. */
const KEPT_CHARACTERS = 4_000_000;

/** Log of a container over all its starts: the last four million characters. */
export class MachineLog {
  readonly #decoder = new TextDecoder();
  #text = '';

  append(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    if (this.#text.length > 2 * KEPT_CHARACTERS) this.#text = this.#text.slice(-KEPT_CHARACTERS);
  }

  /** Returns the last lines, at most `max`; the last one may be incomplete. */
  lines(max: number): readonly string[] {
    const lines = this.#text.slice(-KEPT_CHARACTERS).split('\n');
    if (lines.at(-1) === '') lines.pop();
    return lines.slice(-max);
  }
}
