import { cellsOf } from './fit.ts';

/** Terminal of a picture. */
export interface Terminal {
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const CLEAR_BELOW = '\u001b[0J';
const up = (lines: number): string => (lines > 0 ? `\u001b[${lines}A\r` : '');

/** Cells of a line on a terminal; one that does not say counts as a wide one. */
export const widthOf = (out: Terminal): number => out.columns || 120;

/** A terminal with scrolling lines, and below them a block that is redrawn in place. */
export class Screen {
  readonly #out: Terminal;
  #block: readonly string[] = [];

  constructor(out: Terminal) {
    this.#out = out;
  }

  /** Prints permanent text above the block. */
  above(text: string): void {
    this.#erase();
    this.#out.write(text);
    this.#draw();
  }

  /** Sets the block; an equal one is not redrawn. */
  below(lines: readonly string[]): void {
    if (lines.join('\n') === this.#block.join('\n')) return;
    this.#erase();
    this.#block = lines;
    this.#draw();
  }

  /** Erases the block; a line that is longer than the terminal takes several rows. */
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
