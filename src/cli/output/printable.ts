import { stripVTControlCharacters } from 'node:util';

/** Foreign text without anything that could steer a terminal: control characters become spaces. */
export function printable(text: string): string {
  return Array.from(stripVTControlCharacters(text), (character) =>
    isControl(character) ? ' ' : character,
  ).join('');
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (character === '\n' || character === '\t') return false;
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}
