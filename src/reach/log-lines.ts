/**
 * Returns the new lines of a log: those after the lines of an earlier read. `isCut` if none of the earlier lines is
 * left, so that some in between may be missing.
 */
export function linesAfter(
  before: readonly string[],
  now: readonly string[],
): { readonly added: readonly string[]; readonly isCut: boolean } {
  if (before.length === 0) return { added: now, isCut: false };
  for (let overlap = Math.min(before.length, now.length); overlap > 0; overlap -= 1) {
    const tail = before.slice(-overlap);
    if (tail.every((line, at) => line === now[at])) return { added: now.slice(overlap), isCut: false };
  }
  return { added: now, isCut: now.length > 0 };
}
