import { ownValue } from '../../lib/canonical-json.ts';

/**
 * Whether two values are the same JSON: key order means nothing, and a key whose value is undefined is not there,
 * as JSON.stringify has it.
 */
export function sameJson(left: unknown, right: unknown): boolean {
  // Not Object.is: JSON knows no negative zero.
  if (left === right) return true;
  if (!hasMembers(left) || !hasMembers(right)) return false;
  if (Array.isArray(left) || Array.isArray(right)) return sameArrays(left, right);
  return sameObjects(left, right);
}

function sameArrays(left: unknown, right: unknown): boolean {
  if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
  return left.every((value, at) => sameJson(value, right[at]));
}

type Members = Readonly<Record<string, unknown>>;

function hasMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}

/** Nothing is collected on the way: every pass compares its status with the one that stands. */
function sameObjects(left: Members, right: Members): boolean {
  return (
    Object.keys(left).every((key) => sameJson(left[key], ownValue(right, key))) &&
    Object.keys(right).every((key) => right[key] === undefined || ownValue(left, key) !== undefined)
  );
}
