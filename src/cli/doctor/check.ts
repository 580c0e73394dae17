import { MarketplaceError } from '../../market/errors.ts';
import { failureParts } from '../failures/describe-failure.ts';

/** How a check ended. Everything but `ok` says what to do. */
export type Finding =
  | { readonly state: 'ok'; readonly detail: string }
  | { readonly state: 'warning' | 'failed'; readonly detail: string; readonly fix: string }
  /** It could not be looked at, mostly for a lack of rights. */
  | { readonly state: 'skipped'; readonly detail: string; readonly fix: string };

/** A line of the doctor's report. */
export type CheckLine = Finding & { readonly area: string; readonly name: string };

/** One check. It never rejects: a failure is its finding. */
export interface Check {
  readonly area: string;
  readonly name: string;
  readonly run: () => Promise<Finding>;
}

export const ok = (detail: string): Finding => ({ state: 'ok', detail });
export const warning = (detail: string, fix: string): Finding => ({ state: 'warning', detail, fix });
export const wrong = (detail: string, fix: string): Finding => ({ state: 'failed', detail, fix });
export const skipped = (detail: string, fix: string): Finding => ({ state: 'skipped', detail, fix });

/**
 * Runs checks one after another; a check that rejects is a failed one. A service that has no time for the question, for
 * example if the operator has just asked the same, says nothing about what was looked at.
 */
export async function runChecks(
  checks: readonly Check[],
  onLine: (line: CheckLine) => void,
): Promise<readonly CheckLine[]> {
  const lines: CheckLine[] = [];
  for (const { area, name, run } of checks) {
    const line = { area, name, ...(await run().catch(unexpected)) };
    lines.push(line);
    onLine(line);
  }
  return lines;
}

function unexpected(error: unknown): Finding {
  const { what, remedy = 'Correct this first, then run gpu-rent doctor again.' } = failureParts(error);
  const isThrottled = error instanceof MarketplaceError && error.kind === 'throttled';
  return isThrottled ? skipped(what.join(' '), 'Run gpu-rent doctor again.') : wrong(what.join(' '), remedy);
}

const NOTICEABLE_MS = 5_000;
const DANGEROUS_MS = 30_000;

/** How this machine's clock and that of a reply's `Date` differ. Such a header has whole seconds. */
export function clockFinding(date: string | undefined, source: string): Finding {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs))
    return warning(`${source} names no time.`, 'Nothing to do, unless machines seem to cost too much.');
  const seconds = Math.round((Date.now() - theirs) / 1000);
  const apart = Math.abs(seconds) * 1000;
  const detail = `this machine is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} ${source}`;
  if (apart >= DANGEROUS_MS)
    return wrong(`${detail}.`, 'Set the clocks by NTP: leases and the windows of labels depend on them.');
  if (apart >= NOTICEABLE_MS) return warning(`${detail}.`, 'Set the clocks by NTP.');
  return ok(apart < 2000 ? `agrees with ${source}` : detail);
}
