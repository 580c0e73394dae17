import { cellsOf } from './fit.ts';

/** Where a picture is drawn. */
export interface Terminal {
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const CLEAR_BELOW = '\u001b[0J';
const up = (lines: number): string => (lines > 0 ? `\u001b[${lines}A\r` : '');

/** Cells of a line on a terminal; one that does not say counts as a wide one. */
export const widthOf = (out: Terminal): number => out.columns || 120;

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

  /** A line that is longer than the terminal is wide takes several of its rows. */
  #erase(): void {
    const width = widthOf(this.#out);
    const rows = this.#block.map((line) => Math.max(1, Math.ceil(cellsOf(line) / width)));
    const height = rows.reduce((sum, count) => sum + count, 0);
    if (height > 0) this.#out.write(up(height) + CLEAR_BELOW);
  }

  #draw(): void {
    if (this.#block.length > 0) this.#out.write(`${this.#block.join('\n')}\n`);
  }
}
