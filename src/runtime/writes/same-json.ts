/**
 * Whether two values are the same JSON: key order means nothing, and a key whose value is undefined is not there,
 * as JSON.stringify has it.
 */
export function sameJson(left: unknown, right: unknown): boolean {
  // Not Object.is: JSON knows no negative zero.
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) return sameArrays(left, right);
  return sameObjects(left, right);
}

function sameArrays(left: unknown, right: unknown): boolean {
  if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
  return left.every((value, at) => sameJson(value, right[at]));
}

function sameObjects(left: object, right: object): boolean {
  const others = new Map(definedEntries(right));
  const entries = definedEntries(left);
  return (
    entries.length === others.size &&
    entries.every(([key, value]) => others.has(key) && sameJson(value, others.get(key)))
  );
}

function definedEntries(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, entry]) => entry !== undefined);
}
