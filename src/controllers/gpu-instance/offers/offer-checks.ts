import { type AccountLimits, refusesUnknownPrice } from '../../../accounts/spend-limits.ts';
import type { OfferRequirements } from '../../../api/v1alpha1/offer-requirements.ts';
import {
  filterRequirements,
  hostRequirements,
  machineRequirements,
  type Requirement,
  type WantedPorts,
} from '../../../api/v1alpha1/requirements.ts';
import { formatDollars, parseDollars } from '../../../lib/money.ts';
import type { Offer, OfferQuery, OfferFilter as QueryFilter } from '../../../marketplace/offers/offers.ts';
import { priceCap, totalPrice } from './offer-price.ts';

/** One requirement on an offer: how it is tested here and what the search is asked for. */
export interface OfferCheck {
  /** What is missing where it alone fails: a machine that fits, one within the price, or a price at all. */
  readonly kind: 'fit' | 'price' | 'knownPrice';
  /** As a person wrote it: `gpuNames RTX 4090`. */
  readonly label: string;
  /** What a service does not tell passes, since it was asked for; a price alone must be told. */
  readonly passes: (offer: Offer) => boolean;
  /** Whether the offer says what {@link passes} looks at. */
  readonly tells: (offer: Offer) => boolean;
  readonly filters: readonly QueryFilter[];
}

interface Context {
  readonly limits: AccountLimits;
  readonly diskGB: number;
  /** What has to be reached from outside, and so needs direct ports. */
  readonly wanted: WantedPorts;
}

/** The requirements of one alternative, in the order of its fields. */
export function offerChecks(requirements: OfferRequirements, context: Context): readonly OfferCheck[] {
  return [
    ...checksOf(machineRequirements(requirements, context.wanted)),
    ...diskCheck(context),
    ...checksOf(hostRequirements(requirements)),
    ...priceChecks(requirements, context),
    ...checksOf(filterRequirements(requirements)),
  ];
}

/** Most rows of a search: enough for a burst of equal objects, and enough to say why nothing matched. */
const SEARCH_LIMIT = { exact: 200, broad: 2000 } as const;

/** Searches for everything differ in nothing but what the prices include, so that objects share them. */
const BROAD_ORDER = [{ field: 'dph_total', direction: 'asc' }] as const;

/** The search for one alternative. `broad` asks for everything that is for rent, to say why nothing matched. */
export function offerQuery(
  requirements: OfferRequirements,
  context: Context,
  breadth: 'exact' | 'broad',
): OfferQuery {
  const rentable: QueryFilter = { field: 'rentable', operator: 'eq', value: true };
  const checks = breadth === 'exact' ? offerChecks(requirements, context) : [];
  return {
    filters: [rentable, ...checks.flatMap((check) => check.filters)],
    order:
      breadth === 'broad'
        ? BROAD_ORDER
        : requirements.order.map(({ field, direction }) => ({
            field,
            direction: direction === 'Desc' ? 'desc' : 'asc',
          })),
    pricing: requirements.pricing === 'Interruptible' ? 'bid' : 'on-demand',
    limit: SEARCH_LIMIT[breadth],
    storageGB: context.diskGB,
  };
}

function diskCheck({ diskGB }: Context): readonly OfferCheck[] {
  return [
    {
      kind: 'fit',
      label: `disk ${diskGB}G`,
      passes: (offer) => (offer.diskGB ?? diskGB) >= diskGB,
      tells: (offer) => offer.diskGB !== undefined,
      filters: [{ field: 'disk_space', operator: 'gte', value: diskGB }],
    },
  ];
}

/** Every requirement on a machine is one of fit. */
function checksOf(requirements: readonly Requirement[]): readonly OfferCheck[] {
  return requirements.map((requirement) => ({ kind: 'fit', ...requirement }));
}

function priceChecks(requirements: OfferRequirements, { limits }: Context): readonly OfferCheck[] {
  const cap = priceCap(requirements, limits);
  const bid = parseDollars(requirements.bid);
  const price = (offer: Offer) => totalPrice(offer, requirements);
  const isForbidden = refusesUnknownPrice(limits);
  return [
    {
      kind: 'knownPrice',
      label: `allowUnknownPrice false${requirements.allowUnknownPrice ? ' of the account' : ''}`,
      passes: (offer) => (requirements.allowUnknownPrice && !isForbidden) || price(offer) !== undefined,
      tells: () => true,
      filters: [],
    },
    ...(cap === undefined
      ? []
      : [
          {
            kind: 'price' as const,
            label: `maxPricePerHour ${formatDollars(cap)}`,
            passes: (offer: Offer) => (price(offer) ?? 0) <= cap,
            tells: (offer: Offer) => price(offer) !== undefined,
            filters: priceFilter(requirements, cap),
          },
        ]),
    ...(bid === undefined
      ? []
      : [
          {
            kind: 'fit' as const,
            label: `bid ${formatDollars(bid)}`,
            passes: (offer: Offer) => (offer.minBid ?? 0) <= bid,
            tells: (offer: Offer) => offer.minBid !== undefined,
            filters: [{ field: 'min_bid', operator: 'lte', value: bid / 1_000_000 } as const],
          },
        ]),
  ];
}

/** Where any price will do, or a bid makes the price, the search is not narrowed by it. */
function priceFilter(requirements: OfferRequirements, cap: number): readonly QueryFilter[] {
  if (requirements.allowUnknownPrice || requirements.pricing === 'Interruptible') return [];
  return [{ field: 'dph_total', operator: 'lte', value: cap / 1_000_000 }];
}
