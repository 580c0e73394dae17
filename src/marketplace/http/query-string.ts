/** A value of a query: text as it is, anything else as JSON text; undefined is left out. */
export type QueryValues = Readonly<Record<string, unknown>>;

/** `?a=b&…`, form-encoded as public clients do; empty where nothing is set. */
export function queryString(values: QueryValues = {}): string {
  const pairs = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}
