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

/** Type, the last characters and the comment of a public key: enough to tell keys apart. */
export function shortKey(key: string): string {
  const [type = '', body = '', ...comment] = key.trim().split(/\s+/);
  return [type, `…${body.slice(-12)}`, ...comment].join(' ');
}
