import type { Offer } from '../../market/offer.ts';
import { gigabytes, hourlyText, inDollars } from '../../views/amounts.ts';
import type { View } from '../../views/table.ts';
import type { Command } from '../command.ts';
import { pricingOf } from '../options/offer-query.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Lists the GPU models that are for rent. */
export const listGpus: Command = {
  description:
    'One search of all offers, at the pace that the marketplace allows, sorted by GPU. The names are those of spec.offers[].gpuNames. Prices are those of one GPU and hour, in offers of one or more.',
  examples: [
    'gpu-rent list gpus',
    'gpu-rent list gpus -o wide',
    'gpu-rent list gpus --interruptible -o json',
  ],
  options: [
    {
      flags: '--type <type>',
      description: 'Type of price. Default: on-demand.',
      choices: ['on-demand', 'bid', 'interruptible', 'reserved'],
    },
    { flags: '-b, --interruptible', description: 'The same as --type bid.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const pricing = pricingOf(input);
    const offers = await withMarketplace(input, context, ({ client }) =>
      client.offers.search({ ...ALL_OFFERS, pricing }),
    );
    await createOutput(input, context).rows(
      gpuView,
      gpuModels(offers, pricing === 'bid' ? 'minBid' : 'pricePerHour'),
    );
    return 0;
  },
};

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

const SHOWN_REGIONS = 4;

function someOf(regions: readonly string[]): string {
  const more = regions.length - SHOWN_REGIONS;
  return `${regions.slice(0, SHOWN_REGIONS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const gpuView: View<GpuModel> = {
  kind: 'gpu',
  name: ({ name }) => name,
  columns: [
    { header: 'GPU', text: ({ name }) => name },
    { header: 'Memory', text: ({ memoryMB }) => gigabytes(memoryMB) },
    { header: 'Offers', text: ({ offers }) => String(offers) },
    { header: 'From $/h', text: ({ minPrice }) => hourlyText(minPrice) },
    { header: 'To $/h', text: ({ maxPrice }) => hourlyText(maxPrice) },
    { header: 'Counts', text: ({ counts }) => counts.join(', '), wide: true },
    { header: 'Regions', text: ({ regions }) => someOf(regions) },
  ],
};
