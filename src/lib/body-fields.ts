/* Fields of a parsed JSON body from an untrusted caller. PURE. */

/** Returns an id as text, from a number or from digits; undefined for any other value. */
export function idIn(body: unknown, name: string): string | undefined {
  const value = valueIn(body, name);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? String(Number(value)) : undefined;
}

/** Returns a text field; undefined for any other value. */
export function textIn(body: unknown, name: string): string | undefined {
  const value = valueIn(body, name);
  return typeof value === 'string' ? value : undefined;
}

/** Returns a whole number of at most fifteen digits; undefined for any other value. */
export function wholeIn(body: unknown, name: string): number | undefined {
  const value = valueIn(body, name);
  return Number.isSafeInteger(value) && Math.abs(Number(value)) < 1e15 ? Number(value) : undefined;
}

function valueIn(body: unknown, name: string): unknown {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) return undefined;
  return Reflect.get(body, name);
}
