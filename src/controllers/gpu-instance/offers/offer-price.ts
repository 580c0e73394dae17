import type { AccountLimits } from '../../../accounts/tickets/limits.ts';
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

/** The most that one machine may cost: the lower of the alternative's and the account's limit. */
export function priceCap(requirements: OfferRequirements, limits: AccountLimits): MicroDollars | undefined {
  const own = parseDollars(requirements.maxPricePerHour);
  const { maxPricePerHour } = limits;
  if (own === undefined || maxPricePerHour === undefined) return own ?? maxPricePerHour;
  return Math.min(own, maxPricePerHour);
}
