/** Returns the value of a key from outside. Inherited properties, such as `constructor`, count as missing. */
export function ownValue<T>(of: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined;
}

/** Returns true if a value is an object of JSON: neither null nor a list. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns JSON with sorted keys: the order in a manifest or in the API server's storage has no meaning. */
export function canonicalJson(value: unknown): string {
  let text = '';
  writeCanonicalJson(value, (piece) => {
    text += piece;
  });
  return text;
}

/** Passes the pieces of {@link canonicalJson} to `put`, in order. */
export function writeCanonicalJson(value: unknown, put: (piece: string) => void): void {
  if (Array.isArray(value)) {
    put('[');
    for (const [at, entry] of value.entries()) {
      if (at > 0) put(',');
      writeCanonicalJson(entry, put);
    }
    put(']');
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
    entries.sort(([left], [right]) => (left < right ? -1 : 1));
    put('{');
    for (const [at, [key, entry]] of entries.entries()) {
      put(`${at > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      writeCanonicalJson(entry, put);
    }
    put('}');
  } else {
    put(JSON.stringify(value) ?? 'null');
  }
}

/**
 * Returns true if two values are the same JSON. Key order has no meaning, and a key with the value undefined counts as
 * missing, as in JSON.stringify.
 */
export function sameJson(left: unknown, right: unknown): boolean {
  // Not Object.is: JSON has no negative zero.
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

/** Compares without allocating: every reconcile compares its status with the stored one. */
function sameObjects(left: Members, right: Members): boolean {
  return (
    Object.keys(left).every((key) => sameJson(left[key], ownValue(right, key))) &&
    Object.keys(right).every((key) => right[key] === undefined || ownValue(left, key) !== undefined)
  );
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns the given fields without those that are undefined. */
export function omitUndefined<T extends Record<string, unknown>>(fields: T): Defined<T> {
  const there: Partial<T> = {};
  for (const key in fields) if (fields[key] !== undefined) there[key] = fields[key];
  return there as Defined<T>;
}
