import type { AccountLimits } from '../../../accounts/spend-limits.ts';
import type { OfferRequirements } from '../../../api/v1alpha1/offer-requirements.ts';
import { type MicroDollars, parseDollars } from '../../../lib/money.ts';
import type { Offer } from '../../../marketplace/offers/offers.ts';

/** Total price of a rental, disk included: the offer's own, or the bid and the disk. */
export function totalPrice(offer: Offer, requirements: OfferRequirements): MicroDollars | undefined {
  if (requirements.pricing === 'OnDemand') return offer.pricePerHour;
  const bid = parseDollars(requirements.bid);
  const { storage_total_cost: storage } = offer.fields;
  const disk = typeof storage === 'number' ? Math.max(0, storage) : 0;
  return bid === undefined ? undefined : bid + Math.round(disk * 1_000_000);
}

/**
 * The price that a machine counts at if no row and no offer names one: the highest that it may cost. Without a maximum per
 * machine it may take all that the account may spend in an hour; undefined if nothing limits that either.
 */
export function unknownPrice(
  alternatives: readonly OfferRequirements[],
  limits: AccountLimits,
): MicroDollars | undefined {
  return highestCap(alternatives, limits) ?? limits.maxSpendPerHour;
}

/** The most that a machine may cost that any of these alternatives may rent; without alternatives the account's limit. */
export function highestCap(
  alternatives: readonly OfferRequirements[],
  limits: AccountLimits,
): MicroDollars | undefined {
  if (alternatives.length === 0) return limits.maxPricePerHour;
  const caps = alternatives.map((requirements) => priceCap(requirements, limits) ?? Number.POSITIVE_INFINITY);
  const highest = Math.max(...caps);
  return Number.isFinite(highest) ? highest : undefined;
}

/**
 * Whether a limit says what a machine by these requirements may cost. `allowUnknownPrice` stands in for one only where
 * no limit has to count what is spent over time: nothing could be counted without a price.
 */
export function hasPriceRule(
  requirements: OfferRequirements,
  limits: AccountLimits,
  { maxTotalCost }: { readonly maxTotalCost?: string | undefined },
): boolean {
  if (priceCap(requirements, limits) !== undefined) return true;
  const isCounted = limits.maxSpendPerMonth !== undefined || maxTotalCost !== undefined;
  return requirements.allowUnknownPrice && (limits.maxSpendPerHour !== undefined || !isCounted);
}

/** The most that one machine may cost: the lower of the alternative's and the account's limit. */
export function priceCap(requirements: OfferRequirements, limits: AccountLimits): MicroDollars | undefined {
  const own = parseDollars(requirements.maxPricePerHour);
  const { maxPricePerHour } = limits;
  if (own === undefined || maxPricePerHour === undefined) return own ?? maxPricePerHour;
  return Math.min(own, maxPricePerHour);
}
