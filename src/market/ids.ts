/**
 * An id of a market: of an offer, a machine, a host, a user, a volume. Text, because markets differ in what they use; a
 * program compares ids and never computes with them.
 */
export type MarketplaceId = string;

/** Orders ids: numbers by their size, and ids that are none in a fixed order, too. */
export function compareIds(left: MarketplaceId, right: MarketplaceId): number {
  return left.length - right.length || (left < right ? -1 : Number(left > right));
}
