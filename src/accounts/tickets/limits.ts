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
  /** Sum of the hourly prices of all machines of the account. */
  readonly maxSpendPerHour?: MicroDollars;
  /** Spent in the running UTC month. */
  readonly maxSpendPerMonth?: MicroDollars;
  /** Credit below which nothing new is rented. */
  readonly minCredit?: MicroDollars;
}

/** The limits that an account's spec sets. */
export function limitsOf(account: MarketplaceAccount): AccountLimits {
  const { maxInstances, ...amounts } = account.spec.limits;
  const entries = Object.entries(amounts).flatMap(([name, text]) => {
    const amount = parseDollars(text);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  return { ...(maxInstances === undefined ? {} : { maxInstances }), ...Object.fromEntries(entries) };
}
