import type { Offer } from '../market/offer.ts';
import { inDollars } from '../views/amounts.ts';

/** The search for all offers at a usual marketplace. */
export const ALL_OFFERS = {
  filters: [{ field: 'rentable', operator: 'eq', value: true }],
  order: [{ field: 'pricePerHour', direction: 'asc' }],
  limit: 2_000,
} as const;

/** A GPU model in JSON: memory of one GPU in MB, prices per GPU and hour in dollars. */
export interface GpuModel {
  readonly name: string;
  readonly memoryMB: number | undefined;
  readonly offers: number;
  /** Numbers of GPUs in offers. */
  readonly counts: readonly number[];
  readonly minPrice: number | undefined;
  readonly maxPrice: number | undefined;
  readonly regions: readonly string[];
}

/** Returns one row for each name, ordered by name. Offers without a name are left out. */
export function gpuModels(offers: readonly Offer[], price: 'pricePerHour' | 'minBid'): readonly GpuModel[] {
  const named = offers.filter(({ gpuName }) => gpuName !== undefined);
  const byName = Map.groupBy(named, ({ gpuName = '' }) => gpuName);
  return [...byName]
    .map(([name, own]) => modelOf(name, own, price))
    .toSorted((left, right) => left.name.localeCompare(right.name, 'en', { numeric: true }));
}

function modelOf(name: string, offers: readonly Offer[], price: 'pricePerHour' | 'minBid'): GpuModel {
  const prices = offers.flatMap((offer) => {
    const dollars = inDollars(offer[price]);
    return dollars === undefined ? [] : [dollars / Math.max(1, offer.gpuCount ?? 1)];
  });
  const memory = offers.flatMap(({ gpuMemoryMB }) => gpuMemoryMB ?? []);
  const distinct = <T>(values: readonly T[]): readonly T[] => [...new Set(values)].toSorted();
  return {
    name,
    memoryMB: memory.length === 0 ? undefined : Math.max(...memory),
    offers: offers.length,
    counts: [...new Set(offers.flatMap(({ gpuCount }) => gpuCount ?? []))].toSorted(
      (one, other) => one - other,
    ),
    minPrice: prices.length === 0 ? undefined : Math.min(...prices),
    maxPrice: prices.length === 0 ? undefined : Math.max(...prices),
    regions: distinct(offers.flatMap(({ region }) => (region === undefined ? [] : countryOf(region)))),
  };
}

/** Returns the country of a region: `California, US` is in US. */
function countryOf(region: string): string {
  return region.split(',').at(-1)?.trim() ?? region;
}
