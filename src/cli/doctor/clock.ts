import { type Finding, ok, warning, wrong } from './check.ts';

const NOTICEABLE_MS = 5_000;
const DANGEROUS_MS = 30_000;

/** How this machine's clock and that of a reply's `Date` differ. Such a header has whole seconds. */
export function clockFinding(date: string | undefined, whose: string): Finding {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs))
    return warning(`${whose} names no time.`, 'Nothing to do, unless machines seem to cost too much.');
  const seconds = Math.round((Date.now() - theirs) / 1000);
  const apart = Math.abs(seconds) * 1000;
  const detail = `this machine is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} ${whose}`;
  if (apart >= DANGEROUS_MS)
    return wrong(`${detail}.`, 'Set the clocks by NTP: leases and the windows of labels depend on them.');
  if (apart >= NOTICEABLE_MS) return warning(`${detail}.`, 'Set the clocks by NTP.');
  return ok(apart < 2000 ? `agrees with ${whose}` : detail);
}
