import { formatDollars } from '../../lib/money.ts';
import type { Offer } from '../../marketplace/offers/offers.ts';
import type { Action } from './types.ts';

/** What a log line says of a search: how many offers the marketplace has for it, and from which price on. */
export function searchFields(offers: readonly Offer[]): Record<string, unknown> {
  const prices = offers.flatMap(({ pricePerHour }) => pricePerHour ?? []);
  return {
    offers: offers.length,
    ...(prices.length > 0 && { fromDollarsPerHour: formatDollars(Math.min(...prices)) }),
  };
}

/** What a log line says of an action beside its type. */
export function actionFields(action: Action): Record<string, unknown> {
  switch (action.type) {
    case 'rent':
      return { offerId: action.purchase.offer.id, attempt: action.purchase.attempt };
    case 'destroy':
      return { instanceId: action.instanceId, reason: action.reason };
    case 'release':
      return {};
    case 'stop':
    case 'start':
    case 'relabel':
    case 'retain':
      return { instanceId: action.instanceId };
  }
}
