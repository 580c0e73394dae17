/** Times that stand in a status are written again at every pass. */
const written = new Map<number, string>();
/** When it is used up, all are forgotten. */
const MOST_WRITTEN = 1024;

/** Milliseconds since the epoch as a Kubernetes timestamp in whole seconds: `2026-11-20T10:00:00Z`. */
export function formatTime(epochMs: number): string {
  const known = written.get(epochMs);
  // Stryker disable next-line ConditionalExpression,EqualityOperator: written anew, it is the same
  if (known !== undefined) return known;
  const text = `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
  // Stryker disable all: what is forgotten is written anew, alike
  if (written.size >= MOST_WRITTEN) written.clear();
  written.set(epochMs, text);
  // Stryker restore all
  return text;
}

/** The same with milliseconds, where a second is too coarse: money is counted from these. */
export function formatExactTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Milliseconds since the epoch of an RFC 3339 time; undefined where there is none or it is not one. */
export function parseTime(text: string | undefined): number | undefined {
  // Stryker disable next-line ConditionalExpression: Date.parse makes no time of undefined either
  if (text === undefined) return undefined;
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed;
}
