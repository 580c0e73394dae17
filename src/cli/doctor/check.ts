import { MarketplaceError } from '../../market/errors.ts';
import { failureParts } from '../failures/describe-failure.ts';

/** Result of a check. All but `ok` have a remedy. */
export type Finding =
  | { readonly state: 'ok'; readonly detail: string }
  | { readonly state: 'warning' | 'failed'; readonly detail: string; readonly fix: string }
  /** The check was impossible, mostly for missing permissions. */
  | { readonly state: 'skipped'; readonly detail: string; readonly fix: string };

/** A line of the doctor's report. */
export type CheckLine = Finding & { readonly area: string; readonly name: string };

/** A check. It never rejects: a failure is its finding. */
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
 * Runs checks one after another; a check that rejects has failed. A rate-limited answer, for example because the
 * operator just sent the same call, proves nothing about the subject of the check.
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

/** Returns the difference between the local clock and that of a reply's `Date`, which has whole seconds. */
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
