import { stripVTControlCharacters } from 'node:util';

/** Foreign text without anything that could steer a terminal: control characters become spaces. */
export function printable(text: string): string {
  if (!/\p{Cc}/u.test(text)) return text;
  return Array.from(stripVTControlCharacters(text), (character) =>
    isControl(character) ? ' ' : character,
  ).join('');
}

/** The same on one line, where more lines, or columns, would be taken for ours. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s*[\n\t]\s*/g, ' ');
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\n' || character === '\t') return false;
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/** A line that fits the columns of a terminal; a longer one ends in `…`. */
export function cut(line: string, columns = Number.POSITIVE_INFINITY): string {
  const characters = [...line];
  return characters.length <= columns ? line : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}
