let cachedSecond = -1;
let cachedText = '';

/** The `Date` header of a time in ms since the epoch. One text serves a whole second. */
export function httpDate(time: number): string {
  const second = Math.floor(time / 1000);
  if (second !== cachedSecond) {
    cachedText = new Date(second * 1000).toUTCString();
    cachedSecond = second;
  }
  return cachedText;
}
