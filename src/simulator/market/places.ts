/** Where a host stands, as offers say it. */
export interface Place {
  readonly geolocation: string;
  /** One number per country: what a two-letter `geolocation` filter compares with. */
  readonly geolocode: number;
}

const NAMES = [
  'California, US',
  'Texas, US',
  'Washington, US',
  'Virginia, US',
  'Quebec, CA',
  'Ontario, CA',
  'Sweden, SE',
  'Norway, NO',
  'Germany, DE',
  'Netherlands, NL',
  'France, FR',
  'United Kingdom, GB',
  'Poland, PL',
  'Czechia, CZ',
  'Spain, ES',
  'Bulgaria, BG',
  'Japan, JP',
  'South Korea, KR',
  'Taiwan, TW',
  'Singapore, SG',
  'Australia, AU',
  'India, IN',
  'Brazil, BR',
  'South Africa, ZA',
] as const;

/** The number of a two-letter country; other texts get numbers that no country has. */
export function countryCode(country: string): number {
  const letters = country.trim().toUpperCase();
  if (!/^[A-Z]{2}$/.test(letters)) return -1;
  return (letters.charCodeAt(0) - 64) * 27 + (letters.charCodeAt(1) - 64);
}

/** A place by its name, which ends in the letters of its country: `Sweden, SE`, or just `SE`. */
export function placeNamed(geolocation: string): Place {
  return { geolocation, geolocode: countryCode(geolocation.slice(geolocation.lastIndexOf(' ') + 1)) };
}

/** Places of the market. */
export const PLACES: readonly Place[] = NAMES.map(placeNamed);
