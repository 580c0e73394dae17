const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** Text as a field of so many characters holds it: cut, in whole characters. Undefined where nothing is left to say. */
export function fittingText(text: string | undefined, most: number): string | undefined {
  const fitting = text?.slice(0, most).replace(HALF_CHARACTER, '');
  return fitting === '' ? undefined : fitting;
}

const ELLIPSIS = '…';
/** A unit of UTF-16 is at most three bytes of UTF-8; a character of four bytes is two units. */
const MAX_BYTES_PER_UNIT = 3;

/** The text in at most `maxBytes` of UTF-8, ending in an ellipsis where something is missing; no character is halved. */
export function cutToBytes(text: string, maxBytes: number): string {
  if (text.length * MAX_BYTES_PER_UNIT <= maxBytes) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - Buffer.byteLength(ELLIPSIS);
  // A continuation byte (10xxxxxx) belongs to the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, Math.max(0, end)) + ELLIPSIS;
}
