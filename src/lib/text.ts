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

/** Two characters may be wrong, of a long word a third. */
const aThird = (text: string): number => Math.max(2, Math.floor(text.length / 3));

/**
 * The word that was probably meant: the nearest candidate without regard to case, the first of equally near ones;
 * undefined if its distance is over `maxDistance`.
 */
export function nearest(
  typed: string,
  candidates: readonly string[],
  maxDistance: (candidate: string) => number = aThird,
): string | undefined {
  const [best] = candidates
    .map((name) => ({ name, distance: editDistance(typed.toLowerCase(), name.toLowerCase()) }))
    .toSorted((left, right) => left.distance - right.distance);
  return best && best.distance <= maxDistance(best.name) ? best.name : undefined;
}

/** Of names whose spaces, signs and letter case people do not remember: one that differs in these alone, else the nearest. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const plain = (name: string): string => name.toLowerCase().replaceAll(/[^\p{Letter}\p{Number}]/gu, '');
  return names.find((name) => plain(name) === plain(typed)) ?? nearest(typed, names);
}

/** Minimum number of characters added, removed or replaced (Levenshtein). */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (const [row, character] of [...left].entries()) {
    const current = [row + 1];
    for (const [at, other] of [...right].entries()) {
      const replaced = (previous[at] ?? 0) + (character === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[at + 1] ?? 0) + 1, (current[at] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
