import { limitsOf } from '../../accounts/spend-limits.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { formatDollars, type MicroDollars } from '../../lib/money.ts';
import type { ConditionState } from './conditions.ts';
import type { CreditReading, Observed } from './types.ts';

/** Number of readings that must agree: one wrong reply changes no condition. */
const AGREEING_READINGS = 2;
const HOURS_UNTIL_LOW = 24;
/** Larger than {@link HOURS_UNTIL_LOW}, so that a price near the limit does not alternate the condition. */
const HOURS_UNTIL_ENOUGH = 30;

/** Returns the newest readings, of different checks, the newest last. A check that failed adds none. */
export function withReading(
  before: readonly CreditReading[],
  reading: CreditReading | undefined,
): readonly CreditReading[] {
  if (!reading || before.some(({ checkedAt }) => checkedAt === reading.checkedAt)) return before;
  return [...before, reading].slice(-AGREEING_READINGS);
}

/**
 * Returns the condition of an account whose credit above `limits.minCredit` lasts less than 24 h; undefined otherwise.
 * The condition changes only if two readings agree, and ends above 30 h. Without readings, as in an outage, it stays as recorded.
 */
export function creditLow({ account, creditReadings }: Observed): ConditionState | undefined {
  const before = isRecordedLow(account);
  const hours = before ? HOURS_UNTIL_ENOUGH : HOURS_UNTIL_LOW;
  const least = limitsOf(account).minCredit ?? 0;
  const isLow = ({ credit, pricePerHour }: CreditReading) =>
    credit !== undefined && credit <= least + hours * pricePerHour;
  const findings = creditReadings.map(isLow);
  const hasChanged = findings.length === AGREEING_READINGS && findings.every((finding) => finding !== before);
  const isNow = hasChanged ? !before : before;
  if (!isNow) return undefined;
  return { status: 'True', reason: 'CreditLow', message: messageOf(least) };
}

/** Returns true if the status of the account has the condition. */
export function isRecordedLow({ status }: Pick<MarketplaceAccount, 'status'>): boolean {
  return status?.conditions?.some(({ type }) => type === 'CreditLow') === true;
}

/** Returns the message, without credit and cost: they change at each poll. */
function messageOf(least: MicroDollars): string {
  const [limit, effect] =
    least === 0
      ? ['used up', 'without credit the marketplace stops or destroys machines']
      : [`down to limits.minCredit of $${formatDollars(least)}`, 'then nothing is rented or started'];
  return `Credit is ${limit} in about a day or less at the present hourly cost; ${effect}. Add credit at the marketplace.`;
}
