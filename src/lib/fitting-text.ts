const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** Text as a field of so many characters holds it: cut, in whole characters. Undefined where nothing is left to say. */
export function fittingText(text: string | undefined, most: number): string | undefined {
  const fitting = text?.slice(0, most).replace(HALF_CHARACTER, '');
  return fitting === '' ? undefined : fitting;
}
