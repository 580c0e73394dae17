const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** Returns the text cut to `most` whole characters. Undefined if nothing is left. */
export function fittingText(text: string | undefined, most: number): string | undefined {
  const fitting = text?.slice(0, most).replace(HALF_CHARACTER, '');
  return fitting === '' ? undefined : fitting;
}

/** User and password of an address. */
const CREDENTIALS = /:\/\/[^\s/@]+@/g;

/**
 * Returns foreign text in printable ASCII, at most `most` characters long and without the credentials of URLs.
 * Undefined if nothing readable is left.
 */
export function printableText(text: string | undefined, most: number): string | undefined {
  const printable = text
    ?.replace(CREDENTIALS, '://')
    .replace(/[^ -~]+/g, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return fittingText(printable, most);
}

const ELLIPSIS = '…';
/** A unit of UTF-16 is at most three bytes of UTF-8; a character of four bytes is two units. */
const MAX_BYTES_PER_UNIT = 3;

/** Returns the text in at most `maxBytes` of UTF-8. A cut text ends in an ellipsis; no character is halved. */
export function cutToBytes(text: string, maxBytes: number): string {
  if (text.length * MAX_BYTES_PER_UNIT <= maxBytes) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - Buffer.byteLength(ELLIPSIS);
  // A continuation byte (10xxxxxx) belongs to the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, Math.max(0, end)) + ELLIPSIS;
}

const MAX_WRONG = 3;
const MIN_SIMILARITY = 0.4;

/**
 * Returns the maximum number of wrong characters: three, and more than 40 % must be right. commander uses the same
 * threshold for suggestions.
 */
const fewWrong = (typed: string, candidate: string): number =>
  Math.min(MAX_WRONG, Math.ceil(Math.max(typed.length, candidate.length) * (1 - MIN_SIMILARITY)) - 1);

/** Returns the end of the text in at most `maxBytes` of UTF-8; no character is halved. */
export function lastBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let from = bytes.length - maxBytes;
  // A byte 10xxxxxx continues a character.
  while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from++;
  return bytes.toString('utf8', from);
}

/** Returns the end of the text with at most `most` units of UTF-16; no character is halved. */
export function lastCharacters(text: string, most: number): string {
  const end = text.slice(-most);
  return /^[\udc00-\udfff]/.test(end) ? end.slice(1) : end;
}

/**
 * Returns the nearest candidate regardless of case, the first of equally near ones; undefined if its distance exceeds
 * `maxDistance`.
 */
export function nearest(
  typed: string,
  candidates: readonly string[],
  maxDistance: (candidate: string) => number = (candidate) => fewWrong(typed, candidate),
): string | undefined {
  const [best] = candidates
    .map((name) => ({ name, distance: editDistance(typed.toLowerCase(), name.toLowerCase()) }))
    .toSorted((left, right) => left.distance - right.distance);
  return best && best.distance <= maxDistance(best.name) ? best.name : undefined;
}

const MAX_MODELS = 3;

/**
 * Returns at most three model names for a mistyped one. It prefers the name that differs only in spaces, signs and
 * letter case, then names that begin with the typed words (`H100` means H100 SXM, H100 PCIE or H100 NVL), then the
 * nearest with the same numbers: another number is another model.
 */
export function nearestModels(typed: string, names: readonly string[]): readonly string[] {
  const plain = (name: string): string => name.toLowerCase().replaceAll(/[^\p{Letter}\p{Number}]/gu, '');
  const numbers = (name: string): string => (name.match(/\d+/g) ?? []).join(' ');
  const same = names.find((name) => plain(name) === plain(typed));
  if (same !== undefined) return [same];
  const models = names.filter((name) => numbers(name) === numbers(typed));
  const longer = models.filter((name) => plain(name).startsWith(plain(typed)));
  if (longer.length > 0) return longer.slice(0, MAX_MODELS);
  const near = nearest(typed, models);
  return near === undefined ? [] : [near];
}

/** Returns `A`, `A or B`, `A, B or C`. */
export function alternatives(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}

/** Returns the minimum number of characters added, removed or replaced (Levenshtein). */
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
