import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceId } from './ids.ts';

/**
 * A condition on one field; several on one field are joined by AND. A field of {@link Offer} has its name and unit there.
 * Any other name is a field that only this market has, in the market's own unit.
 */
export interface OfferFilter {
  readonly field: string;
  readonly operator: FilterOperator;
  readonly value: OfferScalar | readonly OfferScalar[];
}

/** Type of the price: fixed, interruptible bid, or prepaid reservation. */
export type PricingType = 'on-demand' | 'bid' | 'reserved';

/** A sort key; earlier keys take precedence. */
export interface OfferOrder {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
}

/** A search of offers (specification 4.4). It contains all filters and the whole order: nothing is added by default. */
export interface OfferQuery {
  readonly filters: readonly OfferFilter[];
  readonly order?: readonly OfferOrder[];
  readonly pricing?: PricingType;
  readonly limit?: number;
  /** Gigabytes of disk that the prices of the reply include. */
  readonly storageGB?: number;
}

/**
 * An offer, in this program's names and units. A missing value is undefined, never 0. A market lists the facts that its
 * offers have in `MarketFacts.offerFields`.
 */
export interface Offer {
  readonly id: MarketplaceId;
  /** Number of machines that may be rented by this offer now; undefined if the offer is one machine. */
  readonly stock?: number;
  readonly machineId?: MarketplaceId | undefined;
  readonly hostId?: MarketplaceId | undefined;
  readonly gpuName?: string | undefined;
  readonly gpuCount?: number | undefined;
  /** Decimal megabytes per GPU. */
  readonly gpuMemoryMB?: number | undefined;
  /** Main memory in decimal megabytes. */
  readonly memoryMB?: number | undefined;
  readonly cpuCores?: number | undefined;
  readonly diskGB?: number | undefined;
  readonly directPorts?: number | undefined;
  /** Reliability, 0 to 1. */
  readonly reliability?: number | undefined;
  readonly verified?: boolean | undefined;
  readonly rentable?: boolean | undefined;
  /** Total on-demand price with the requested storage. */
  readonly pricePerHour?: MicroDollars | undefined;
  /** Minimum accepted bid per hour. */
  readonly minBid?: MicroDollars | undefined;
  /** Price per hour of the requested storage, which a bid does not include. */
  readonly storagePricePerHour?: MicroDollars | undefined;
  /** Region in the words of the service, e.g. `California, US`. */
  readonly region?: string | undefined;
  readonly cudaVersion?: number | undefined;
  /** Score of learning performance, for all GPUs together. */
  readonly performance?: number | undefined;
  /** Seconds that the offer remains available. */
  readonly remainingSeconds?: number | undefined;
  /** Every scalar of the row by the market's own name and unit, for filters and columns without a field above. */
  readonly fields: Readonly<Record<string, OfferScalar>>;
}

/** Name of a field of {@link Offer} that may be known, for filters and orders of a search. */
export type OfferFact = Exclude<keyof Offer, 'id' | 'stock' | 'fields'>;

/** A value of an offer's field, or of a filter. */
export type OfferScalar = string | number | boolean | null;

/** All comparisons of an offer search, in the order of documentation (specification 4.4 shows two). */
export const FILTER_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'notin'] as const;

/** A comparison of an offer search. */
export type FilterOperator = (typeof FILTER_OPERATORS)[number];
