import { stripVTControlCharacters } from 'node:util';

/** Cells that a text takes on a terminal. */
export function cellsOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/**
 * Returns a text as lines of at most `width` cells, broken between words; every line but the first begins with `indent`
 * spaces. A word longer than a line stays whole, on a line of its own, for the terminal to fold.
 */
export function wrapWords(text: string, width: number, indent = 0): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.match(/\s*\S+/g) ?? []) {
    if (line === '' || cellsOf(line + word) <= width) {
      line += word;
      continue;
    }
    lines.push(line);
    line = ' '.repeat(indent) + word.trimStart();
  }
  return [...lines, line];
}
