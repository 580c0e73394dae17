/** The given fields without those that are undefined: what is not known is not there. */
export type Known<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

export function known<T extends Record<string, unknown>>(fields: T): Known<T> {
  const there: Partial<T> = {};
  for (const key in fields) if (fields[key] !== undefined) there[key] = fields[key];
  return there as Known<T>;
}
