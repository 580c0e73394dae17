/* Output of a program in the log of its container, as the log arrives. PURE but for its own state. */

/** Text before the first line of the wrapper is withheld up to this length: the wrapper's line may not be in the log. */
const MAX_WITHHELD = 16_384;
const MARKER = /\r?\n?gpurental [A-Za-z0-9]{12} (start|exit) \d{1,9}[ \t\r]*\n/g;
/** End of a text that may be the beginning of a line of the wrapper. */
const PARTIAL = /(?:^|\r?\n)g(?:p(?:u(?:r(?:e(?:n(?:t(?:a(?:l(?: [^\n]{0,40})?)?)?)?)?)?)?)?)?$/;

/**
 * Separates the output of a program from the log of its container: the lines of the wrapper are left out, and so is text
 * before the program starts and after it ends. A log without a line of the wrapper is output as a whole.
 */
export class ProgramOutput {
  #partial = '';
  #withheld = '';
  #isRunning = false;
  #hasStarted = false;
  #hasEnded = false;

  /** True if the exit of the program is in the log, and no later start. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Adds text of the log, and returns the output in it. */
  take(text: string): string {
    const whole = this.#partial + text;
    let output = '';
    let from = 0;
    for (const { 0: line, 1: event, index } of whole.matchAll(MARKER)) {
      output += this.#pass(whole.slice(from, index));
      if (event === 'start') this.#start();
      else output += this.#exit();
      from = index + line.length;
    }
    const rest = whole.slice(from);
    const partial = PARTIAL.exec(rest);
    this.#partial = partial?.[0] ?? '';
    return output + this.#pass(rest.slice(0, partial?.index));
  }

  /** Returns the output that was withheld, because no more text follows. */
  end(): string {
    const output = this.#pass(this.#partial) + (this.#hasStarted || this.#hasEnded ? '' : this.#withheld);
    this.#partial = '';
    this.#withheld = '';
    return output;
  }

  #pass(text: string): string {
    if (this.#isRunning) return text;
    this.#withheld += text;
    return this.#withheld.length > MAX_WITHHELD ? this.#release() : '';
  }

  #release(): string {
    const output = this.#withheld;
    this.#withheld = '';
    this.#isRunning = true;
    return output;
  }

  #start(): void {
    this.#withheld = '';
    this.#isRunning = true;
    this.#hasStarted = true;
    this.#hasEnded = false;
  }

  #exit(): string {
    // The start is not in the log, so that the withheld text is output.
    const output = this.#hasStarted || this.#hasEnded ? '' : this.#withheld;
    this.#withheld = '';
    this.#isRunning = false;
    this.#hasEnded = true;
    return output;
  }
}
