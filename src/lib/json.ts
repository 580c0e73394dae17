import { createHash } from 'node:crypto';

/** Longer pieces of a text are hashed as they are. */
const LONG_PIECE = 4096;

/** The value of a key that a stranger chose: what every object inherits, such as `constructor`, is not there. */
export function ownValue<T>(of: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
}

/** Whether a value is an object of JSON: neither null nor a list. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON with sorted keys: the order in which a manifest was written, or an API server stores it, means nothing. */
export function canonicalJson(value: unknown): string {
  let text = '';
  write(value, (piece) => {
    text += piece;
  });
  return text;
}

/** SHA-256 of {@link canonicalJson} in hexadecimal digits, of which a long text is never in memory as a whole. */
export function canonicalSha256(value: unknown): string {
  const hash = createHash('sha256');
  let text = '';
  write(value, (piece) => {
    if (piece.length < LONG_PIECE) text += piece;
    if (piece.length < LONG_PIECE && text.length < LONG_PIECE) return;
    hash.update(text);
    text = '';
    if (piece.length >= LONG_PIECE) hash.update(piece);
  });
  return hash.update(text).digest('hex');
}

function write(value: unknown, put: (piece: string) => void): void {
  if (Array.isArray(value)) {
    put('[');
    for (const [at, entry] of value.entries()) {
      if (at > 0) put(',');
      write(entry, put);
    }
    put(']');
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
    entries.sort(([left], [right]) => (left < right ? -1 : 1));
    put('{');
    for (const [at, [key, entry]] of entries.entries()) {
      put(`${at > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      write(entry, put);
    }
    put('}');
  } else {
    put(JSON.stringify(value) ?? 'null');
  }
}

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

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The given fields without those that are undefined. */
export function omitUndefined<T extends Record<string, unknown>>(fields: T): Defined<T> {
  const there: Partial<T> = {};
  for (const key in fields) if (fields[key] !== undefined) there[key] = fields[key];
  return there as Defined<T>;
}
