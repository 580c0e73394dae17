import { stripVTControlCharacters } from 'node:util';

/** Where a picture is drawn. */
export interface Terminal {
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const CLEAR_BELOW = '\u001b[0J';
const up = (lines: number): string => (lines > 0 ? `\u001b[${lines}A\r` : '');

/** A terminal with lines that scroll, and below them a block that is drawn anew in place. */
export class Screen {
  readonly #out: Terminal;
  #block: readonly string[] = [];

  constructor(out: Terminal) {
    this.#out = out;
  }

  /** Text for good, which ends its line. */
  above(text: string): void {
    this.#erase();
    this.#out.write(text);
    this.#draw();
  }

  /** The block from now on; an equal one is not drawn again. */
  below(lines: readonly string[]): void {
    if (lines.join('\n') === this.#block.join('\n')) return;
    this.#erase();
    this.#block = lines;
    this.#draw();
  }

  #erase(): void {
    if (this.#block.length > 0) this.#out.write(up(this.#block.length) + CLEAR_BELOW);
  }

  /** A line that wrapped would be two, and the block could not be erased: longer ones are cut. */
  #draw(): void {
    if (this.#block.length === 0) return;
    const width = this.#out.columns ?? 120;
    this.#out.write(`${this.#block.map((line) => fitted(line, width)).join('\n')}\n`);
  }
}

function fitted(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= width ? line : plain.slice(0, width);
}
