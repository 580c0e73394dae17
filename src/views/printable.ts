import { stripVTControlCharacters } from 'node:util';

/** Returns foreign text without control characters, which could control a terminal: they become spaces. */
export function printable(text: string): string {
  if (!/\p{Cc}/u.test(text)) return text;
  return Array.from(stripVTControlCharacters(text), (character) =>
    isControl(character) ? ' ' : character,
  ).join('');
}

/** Returns foreign text on one line: further lines or columns would look like this program's own. */
export function printableLine(text: string): string {
  return printable(text).replace(/\s*[\n\t]\s*/g, ' ');
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\n' || character === '\t') return false;
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/** Returns the line cut to the columns of a terminal; a cut line ends in `…`. */
export function cut(line: string, columns = Number.POSITIVE_INFINITY): string {
  const characters = [...line];
  return characters.length <= columns ? line : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}
