import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { type MicroDollars, parseDollars } from '../../lib/money.ts';

/**
 * What an account allows in sum. Limits stop new rentals and starts, never a machine that runs. An absent
 * one does not limit.
 */
export interface AccountLimits {
  readonly maxInstances?: number;
  /** Of one machine, and the default of a GpuInstance that sets none. */
  readonly maxPricePerHour?: MicroDollars;
  /** Whether an offer without a price may be rented although `maxPricePerHour` is set. */
  readonly allowUnknownPrice?: boolean;
  /** Sum of the hourly prices of all machines of the account. */
  readonly maxSpendPerHour?: MicroDollars;
  /** Spent in the running UTC month. */
  readonly maxSpendPerMonth?: MicroDollars;
  /** Credit below which nothing new is rented. */
  readonly minCredit?: MicroDollars;
}

/** The limits that an account's spec sets. */
export function limitsOf(account: MarketplaceAccount): AccountLimits {
  const { maxInstances, allowUnknownPrice, ...amounts } = account.spec.limits;
  const entries = Object.entries(amounts).flatMap(([name, text]) => {
    const amount = parseDollars(text);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  return {
    ...(maxInstances === undefined ? {} : { maxInstances }),
    ...(allowUnknownPrice === true ? { allowUnknownPrice } : {}),
    ...Object.fromEntries(entries),
  };
}

/** Whether the account refuses offers without a price: nobody can tell whether they are within its `maxPricePerHour`. */
export function refusesUnknownPrice({ maxPricePerHour, allowUnknownPrice }: AccountLimits): boolean {
  return maxPricePerHour !== undefined && allowUnknownPrice !== true;
}

/**
 * The most that a rental may cost an hour whose price is not known: the lower of its object's and the account's limit
 * of one machine. What has neither may take all that the account may spend.
 */
export function dearestRental(
  dearestPrice: MicroDollars | undefined,
  limits: AccountLimits,
  ceiling: MicroDollars,
): MicroDollars {
  const caps = [dearestPrice, limits.maxPricePerHour].filter((cap) => cap !== undefined);
  return Math.min(ceiling, ...(caps.length > 0 ? caps : [limits.maxSpendPerHour ?? ceiling]));
}
