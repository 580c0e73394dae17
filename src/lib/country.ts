/** Codes that people write for a country, and the one of ISO 3166 that the marketplace has. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ['EL', 'GR'],
]);

/** A country as the marketplace filters by it: two letters of ISO 3166. */
export function countryCode(text: string): string {
  return ALIASES.get(text) ?? text;
}
