/** The id in a path: digits alone. Other spellings of a number (`5.0`, `5e0`, `0x5`) are NaN, which names nothing. */
export function pathId(text: string | undefined): number {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : Number.NaN;
}
