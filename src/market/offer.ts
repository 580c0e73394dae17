import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceId } from './ids.ts';

/** One condition on one field; several on one field are joined by AND. Values are in the wire's units. */
export interface OfferFilter {
  readonly field: string;
  readonly operator: FilterOperator;
  readonly value: OfferScalar | readonly OfferScalar[];
}

/** How the price is made: fixed, by interruptible bid, or by prepaid reservation. */
export type PricingType = 'on-demand' | 'bid' | 'reserved';

/** One sort key; earlier keys win. */
export interface OfferOrder {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
}

/** A search of offers (specification 4.4). Nothing is added to it: no default filter, no default order. */
export interface OfferQuery {
  readonly filters: readonly OfferFilter[];
  readonly order?: readonly OfferOrder[];
  readonly pricing?: PricingType;
  readonly limit?: number;
  /** GB of disk that the prices of the reply include. */
  readonly storageGB?: number;
}

/** An offer, in our names and units. Anything the service did not say is undefined, never 0. */
export interface Offer {
  readonly id: MarketplaceId;
  readonly machineId: MarketplaceId | undefined;
  readonly hostId: MarketplaceId | undefined;
  readonly gpuName: string | undefined;
  readonly gpuCount: number | undefined;
  /** Decimal megabytes per GPU. */
  readonly gpuMemoryMB: number | undefined;
  /** Decimal megabytes of main memory. */
  readonly memoryMB: number | undefined;
  readonly cpuCores: number | undefined;
  readonly diskGB: number | undefined;
  readonly directPorts: number | undefined;
  /** 0 to 1. */
  readonly reliability: number | undefined;
  readonly verified: boolean | undefined;
  readonly rentable: boolean | undefined;
  /** Total with the storage asked for, on demand. */
  readonly pricePerHour: MicroDollars | undefined;
  /** The lowest bid that is taken, per hour. */
  readonly minBid: MicroDollars | undefined;
  /** As the service words it, e.g. `California, US`. */
  readonly region: string | undefined;
  readonly cudaVersion: number | undefined;
  /** Score of learning performance, for all GPUs together. */
  readonly performance: number | undefined;
  /** Seconds that the offer remains available. */
  readonly remainingSeconds: number | undefined;
  /** Every scalar of the row under its wire name and unit, for filters and columns that are not above. */
  readonly fields: Readonly<Record<string, OfferScalar>>;
}

/** A value that a filter compares with, and that an offer's field holds. */
export type OfferScalar = string | number | boolean | null;

/** All comparisons of an offer search, in the order people are told them (specification 4.4 shows two). */
export const FILTER_OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'notin'] as const;

/** A comparison of an offer search. */
export type FilterOperator = (typeof FILTER_OPERATORS)[number];
