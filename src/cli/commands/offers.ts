import type { Command } from '../command.ts';
import { pricingOf, SEARCH_OPTIONS, searchWords } from '../options/offer-query.ts';
import { numberOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { offerRow, offerView } from '../views/offers.ts';

/** Finds machines for rent. */
export const searchOffers: Command = {
  description:
    'A query is written as field operator value: gpu_name=RTX_4090 num_gpus>=2 gpu_ram>=24; docs/reference/offer-fields.md lists the fields. Memory is in GB, duration in days, _ in a name is a space; any, ? and * take a usual filter away. Quote < and > for the shell.',
  examples: [
    "gpu-rent search offers 'gpu_name=RTX_4090 num_gpus=1 dph_total<0.5'",
    "gpu-rent search offers 'gpu_ram>=48 geolocation in [DE,NL]' --order dph_total --limit 5",
    "gpu-rent search offers 'gpu_name=H100_SXM' --type bid -o json",
  ],
  args: [{ name: '[query...]', description: 'What an offer must be.' }],
  options: [
    ...SEARCH_OPTIONS,
    {
      flags: '--type <type>',
      description: 'How the price is made. Default: on-demand.',
      choices: ['on-demand', 'bid', 'interruptible', 'reserved'],
    },
    { flags: '-b, --interruptible', description: 'The same as --type bid.' },
    { flags: '--storage <gb>', description: 'GB of disk that the price includes. Default: 5.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { USUAL_DEFAULTS } = await import('../../marketplace/offers/query-text.ts');
    const words = await searchWords(input, USUAL_DEFAULTS, 'score-');
    const storageGB = numberOption(input.options, '--storage', { min: 0 }) ?? 5;
    const query = { ...words, pricing: pricingOf(input), storageGB };
    const offers = await withMarketplace(input, context, ({ client }) => client.offers.search(query));
    await createOutput(input, context).rows(offerView, offers.map(offerRow));
    return 0;
  },
};
