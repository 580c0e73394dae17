type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The given fields without those that are undefined. */
export function omitUndefined<T extends Record<string, unknown>>(fields: T): Defined<T> {
  const there: Partial<T> = {};
  for (const key in fields) if (fields[key] !== undefined) there[key] = fields[key];
  return there as Defined<T>;
}
