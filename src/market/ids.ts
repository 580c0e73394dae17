/**
 * An id of a market: of an offer, a machine, a host, a user, a volume. It is text because markets use different forms;
 * programs compare ids and never calculate with them.
 */
export type MarketplaceId = string;

/** Compares ids: numbers by their size, other ids in a fixed order. */
export function compareIds(left: MarketplaceId, right: MarketplaceId): number {
  return left.length - right.length || (left < right ? -1 : Number(left > right));
}
