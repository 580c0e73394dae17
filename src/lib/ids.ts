/** Orders ids of a marketplace: numbers by their size, and ids that are none in a fixed order, too. */
export function compareIds(left: string, right: string): number {
  return left.length - right.length || (left < right ? -1 : Number(left > right));
}
