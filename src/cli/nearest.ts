/** The word that was probably meant: the nearest one, if one is near. */
export function nearest(typed: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((name) => ({ name, distance: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance);
  const [best] = ranked;
  return best && isNear(best.distance, best.name) ? best.name : undefined;
}

/** Two characters may be wrong, of a long word a third. */
function isNear(howFar: number, text: string): boolean {
  return howFar <= Math.max(2, Math.floor(text.length / 3));
}

/** Least number of characters added, removed or replaced (Levenshtein). */
function distance(left: string, right: string): number {
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
