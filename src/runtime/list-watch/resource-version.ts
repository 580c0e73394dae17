/**
 * Orders two resource versions of one kind: negative, 0 or positive. They are decimal numbers that may outgrow a
 * double, so the longer one is larger and equal lengths compare as text (KEP-5504).
 */
export function compareResourceVersions(left: string, right: string): number {
  if (left.length !== right.length) return left.length - right.length;
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
