import { counted } from '../../lib/plural.ts';
import { cut } from '../../views/printable.ts';

/** The size of a terminal, in characters; undefined if unknown. */
export interface ScreenSize {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** Returns the lines that fit a terminal: longer ones end in `…`, and the last one shows how many are left out. */
export function fitted(text: string, { columns, rows }: ScreenSize): readonly string[] {
  const lines = text.trimEnd().split('\n');
  // The cursor needs a line of its own.
  const room = rows === undefined ? lines.length : Math.max(1, rows - 1);
  const shown =
    lines.length <= room
      ? lines
      : [...lines.slice(0, room - 1), `… ${counted(lines.length - room + 1, 'more line')}`];
  return shown.map((line) => cut(line, columns));
}
