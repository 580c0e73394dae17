/** ISO 3166 codes by other codes that people write for the same country. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
]);

/** Returns the country in the form for the marketplace's filters: two letters of ISO 3166. */
export function countryCode(text: string): string {
  return ALIASES.get(text) ?? text;
}
