import { gigabytes, hourlyText } from '../../views/amounts.ts';
import type { View } from '../../views/table.ts';
import type { Command } from '../command.ts';
import { ALL_OFFERS, type GpuModel, gpuModels } from '../gpu-models.ts';
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
