import { labelName } from '../../config/values.ts';
import { monthName } from '../../instance/cost.ts';
import { MONTH_PATTERN, monthStartOf } from '../../ledger/months.ts';
import { nearest } from '../../lib/text.ts';
import { COST_CRITERIA, type CostCriterion } from '../../views/cost-by.ts';
import { usageError } from '../command-error.ts';
import { parseTime } from '../option-values.ts';

const DAY_MS = 86_400_000;

/** Reads the value of `--by`. Throws a usage error for any other word. */
export function parseCriterion(text: string): CostCriterion {
  const known = COST_CRITERIA.find((criterion) => criterion === text);
  if (known) return known;
  if (text.startsWith('label=')) {
    const label = text.slice('label='.length);
    if (labelName.safeParse(label).success) return { label };
    throw usageError(`--by: "${label}" is not the key of a label.`, 'Write --by label=team, for example.');
  }
  const near = nearest(text, COST_CRITERIA);
  const remedy = near === undefined ? undefined : `Did you mean --by ${near}?`;
  throw usageError(`--by: "${text}" is none of ${COST_CRITERIA.join(', ')}, label=KEY.`, remedy);
}

/** Reads the value of `--since`, as epoch milliseconds. Throws a usage error for another text, or for the future. */
export function parseSince(text: string, now: number): number {
  const since = sinceOf(text, now);
  if (since > now) throw usageError(`--since: ${text} is in the future.`);
  return since;
}

function sinceOf(text: string, now: number): number {
  const days = /^([1-9]\d{0,3})d$/.exec(text);
  if (days) return now - Number(days[1]) * DAY_MS;
  if (/^\d+(\.\d+)?$/.test(text) || /^\d.*[hms]$/.test(text)) return now - parseTime(text, '--since');
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text))
    throw usageError(
      `--since: "${text}" is neither a duration such as 7d or 12h, nor a day such as 2026-11-01.`,
    );
  const at = Date.parse(`${text}T00:00:00Z`);
  if (!Number.isNaN(at) && new Date(at).toISOString().startsWith(text)) return at;
  throw usageError(`--since: "${text}" is no day of the calendar.`);
}

/** Reads the value of `--month`, this month by default. Throws a usage error for another text, or for the future. */
export function parseMonth(text: string | undefined, now: number): string {
  if (text === undefined) return monthName(now);
  if (!MONTH_PATTERN.test(text)) throw usageError(`--month: "${text}" is not a month such as 2026-11.`);
  if (monthStartOf(text) > now) throw usageError(`--month: ${text} is in the future.`);
  return text;
}
