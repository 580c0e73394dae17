const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const IMF_FIXDATE = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;

/** Days from 1 January 1970 to a date of the Gregorian calendar (month from 1). */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** Epoch milliseconds of an HTTP date (RFC 9110, IMF-fixdate); undefined if it is none. */
export function parseHttpDate(text: string | undefined): number | undefined {
  const match = IMF_FIXDATE.exec(text ?? '');
  if (!match) return undefined;
  const [, day, monthName, year, hour, minute, second] = match;
  const month = MONTHS.indexOf(monthName ?? '') + 1;
  if (month === 0) return undefined;
  const days = daysSinceEpoch(Number(year), month, Number(day));
  return ((days * 24 + Number(hour)) * 60 + Number(minute)) * 60_000 + Number(second) * 1000;
}
