import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { formatDuration } from '../../lib/duration.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../../lib/money.ts';

/** Figures of an account that move by themselves. */
export type Figures = Pick<MarketplaceAccountStatus, 'credit' | 'pricePerHour' | 'runway'>;

interface FiguresInput {
  readonly credit: MicroDollars | undefined;
  readonly pricePerHour: MicroDollars;
}

const HOUR_MS = 3_600_000;
const SHARE_WORTH_WRITING = 0.1;
/** Ten years: longer says nothing. */
const LONGEST_RUNWAY_MS = 87_600 * HOUR_MS;

/** Credit, price and how long the one lasts at the other, rounded to whole hours. */
export function figuresOf({ credit, pricePerHour }: FiguresInput): Figures {
  const hours = credit === undefined || pricePerHour <= 0 ? undefined : Math.floor(credit / pricePerHour);
  const runwayMs = hours === undefined ? undefined : Math.max(0, hours * HOUR_MS);
  return {
    ...(credit === undefined ? {} : { credit: formatDollars(Math.max(0, credit)) }),
    pricePerHour: formatDollars(pricePerHour),
    ...(runwayMs === undefined ? {} : { runway: spell(Math.min(runwayMs, LONGEST_RUNWAY_MS)) }),
  };
}

/**
 * The figures to write: new ones where the status is written for something else anyway, or where one moved by 10 %
 * and the last write is an hour old; else those that stand.
 */
export function figuresToWrite(input: {
  readonly before: Figures;
  readonly now: Figures;
  readonly isWrittenAnyway: boolean;
  readonly sinceLastWriteMs: number;
}): Figures {
  const { before, now } = input;
  if (input.isWrittenAnyway || before.credit === undefined) return now;
  if (input.sinceLastWriteMs < HOUR_MS) return before;
  const moved = hasMoved(before.credit, now.credit) || hasMoved(before.pricePerHour, now.pricePerHour);
  return moved ? now : before;
}

function hasMoved(before: string | undefined, now: string | undefined): boolean {
  if (before === undefined || now === undefined) return before !== now;
  const [from, to] = [parseDollars(before) ?? 0, parseDollars(now) ?? 0];
  return from !== to && Math.abs(to - from) >= from * SHARE_WORTH_WRITING;
}

function spell(milliseconds: number): string {
  return milliseconds < HOUR_MS ? '0s' : formatDuration(milliseconds);
}
