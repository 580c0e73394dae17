import type { OfferFilter } from '../../marketplace/offers/offers.ts';
import type { Command } from '../command.ts';
import { SEARCH_OPTIONS, searchWords } from '../options/offer-query.ts';
import { numberOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { volumeOfferRow, volumeOfferView } from '../views/volumes.ts';

/** What public clients ask for unless told otherwise. */
const DEFAULTS: readonly OfferFilter[] = [
  { field: 'verified', operator: 'eq', value: true },
  { field: 'external', operator: 'eq', value: false },
  { field: 'disk_space', operator: 'gte', value: 1 },
];

/** Finds disk for rent. */
export const searchVolumes: Command = {
  name: 'search volumes',
  summary: 'Find disk for rent.',
  examples: ["gpu-rent search volumes 'disk_space>=200 geolocation=US' --order storage_cost"],
  args: [{ name: '[query...]', description: 'What a listing must be; as in search offers.' }],
  options: [
    ...SEARCH_OPTIONS,
    { flags: '--size <gb>', description: 'GB that the price is for. Default: 1.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const words = await searchWords(input, DEFAULTS, 'score-');
    const sizeGB = numberOption(input.options, '--size', { min: 1 }) ?? 1;
    const found = await withMarketplace(input, context, ({ client }) =>
      client.volumes.search({ ...words, sizeGB }),
    );
    await createOutput(input, context).rows(volumeOfferView, found.map(volumeOfferRow));
    return 0;
  },
};
