/* Output of a program in the log of its container, as the log arrives. PURE but for its own state. */

/** Text before the first line of the wrapper is withheld up to this length: the wrapper's line may not be in the log. */
const MAX_WITHHELD = 16_384;
const MARKER = /\r?\n?gpurental ([A-Za-z0-9]{12}) (start|exit) \d{1,9}[ \t\r]*\n/g;
/** End of a text that may be the beginning of a line of the wrapper. */
const PARTIAL = /(?:^|\r?\n)g(?:p(?:u(?:r(?:e(?:n(?:t(?:a(?:l(?: [^\n]{0,40})?)?)?)?)?)?)?)?)?$/;

/**
 * Separates the output of a program from the log of one container: the lines of the wrapper are left out, and so is text
 * before the program starts and after it ends. A log without a line of the wrapper is output as a whole. The first line
 * of the wrapper has the nonce of the rental; a line with another nonce is output, because the program printed it.
 */
export class ProgramOutput {
  #partial = '';
  #withheld = '';
  #nonce: string | undefined;
  #part: 'before' | 'running' | 'ended' = 'before';

  /** True if the exit of the program is in the log, and no later start. */
  get hasEnded(): boolean {
    return this.#part === 'ended';
  }

  /** Adds text of the log, and returns the output in it. */
  take(text: string): string {
    const whole = this.#partial + text;
    let output = '';
    let from = 0;
    for (const { 0: line, 1: nonce, 2: event, index } of whole.matchAll(MARKER)) {
      if (this.#nonce !== undefined && nonce !== this.#nonce) continue;
      this.#nonce = nonce;
      output += this.#pass(whole.slice(from, index));
      output += event === 'exit' ? this.#unlessStarted() : '';
      this.#part = event === 'exit' ? 'ended' : 'running';
      from = index + line.length;
    }
    const rest = whole.slice(from);
    const partial = PARTIAL.exec(rest);
    this.#partial = partial?.[0] ?? '';
    return output + this.#pass(rest.slice(0, partial?.index));
  }

  /** Returns the output that was withheld, because no more text follows. */
  end(): string {
    return this.#pass(this.#partial) + this.#unlessStarted();
  }

  #pass(text: string): string {
    if (this.#part !== 'before') return this.#part === 'running' ? text : '';
    this.#withheld += text;
    if (this.#withheld.length <= MAX_WITHHELD) return '';
    this.#part = 'running';
    return this.#withheld;
  }

  /** Returns the withheld text if the start of the program is not in the log: then it is output. */
  #unlessStarted(): string {
    return this.#part === 'before' ? this.#withheld : '';
  }
}
