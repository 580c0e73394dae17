import type { Offer, OfferFilter } from '../../market/offer.ts';
import type { OffersResource } from '../../markets/vast/offers/offers.ts';
import { ageText, gigabytes, hourlyText, inDollars } from '../../views/amounts.ts';
import type { View } from '../../views/table.ts';
import type { Command } from '../command.ts';
import { numberOption } from '../option-values.ts';
import { pricingOf, SEARCH_OPTIONS, searchWords } from '../options/offer-query.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Finds machines for rent. */
export const searchOffers: Command = {
  description:
    'A query is written as field operator value: gpu_name=RTX_4090 num_gpus>=2 gpu_ram>=24; docs/reference/offer-fields.md lists the fields. Memory is in GB, duration in days, _ in a name is a space; any, ? and * remove a default filter. Quote < and > for the shell.',
  examples: [
    "gpu-rent search offers 'gpu_name=RTX_4090 num_gpus=1 dph_total<0.5'",
    "gpu-rent search offers 'gpu_ram>=48 geolocation in [DE,NL]' --order dph_total --limit 5",
    "gpu-rent search offers 'gpu_name=H100_SXM' --type bid -o json",
  ],
  args: [{ name: '[query...]', description: 'Requirements of an offer.' }],
  options: [
    ...SEARCH_OPTIONS,
    {
      flags: '--type <type>',
      description: 'Type of price. Default: on-demand.',
      choices: ['on-demand', 'bid', 'interruptible', 'reserved'],
    },
    { flags: '-b, --interruptible', description: 'The same as --type bid.' },
    { flags: '--storage <gb>', description: 'GB of disk that the price includes. Default: 5.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { USUAL_DEFAULTS } = await import('../../markets/vast/offers/query-text.ts');
    const words = await searchWords(input, USUAL_DEFAULTS, 'score-');
    const storageGB = numberOption(input.options, '--storage', { min: 0 }) ?? 5;
    const query = { ...words, pricing: pricingOf(input), storageGB };
    const { offers, help } = await withMarketplace(input, context, async ({ client: { offers: market } }) => {
      const found = await market.search(query);
      return { offers: found, help: found.length === 0 ? await namesMeant(query.filters, market) : [] };
    });
    await createOutput(input, context).rows(offerView, offers.map(offerRow));
    for (const line of help) context.stderr.write(`${line}\n`);
    return 0;
  },
};

/** Returns likely names for unknown GPU names; needs one more search if names were given. */
async function namesMeant(
  filters: readonly OfferFilter[],
  market: Pick<OffersResource, 'search'>,
): Promise<readonly string[]> {
  const asked = filters
    .filter(({ field, operator }) => field === 'gpu_name' && (operator === 'eq' || operator === 'in'))
    .flatMap(({ value }) => value)
    .filter((value) => typeof value === 'string');
  if (asked.length === 0) return [];
  return (await import('../gpu-names.ts')).unknownGpus(asked, market);
}

/** Returns an offer in its JSON form: prices in dollars, memory in MB. */
export function offerRow(offer: Offer) {
  return { ...offer, pricePerHour: inDollars(offer.pricePerHour), minBid: inDollars(offer.minBid) };
}

type OfferRow = ReturnType<typeof offerRow>;

const columns: View<OfferRow>['columns'] = [
  { header: 'Id', text: ({ id }) => id },
  { header: 'GPU', text: ({ gpuName }) => gpuName },
  { header: 'Count', text: ({ gpuCount }) => gpuCount },
  { header: 'Memory', text: ({ gpuMemoryMB }) => gigabytes(gpuMemoryMB) },
  { header: '$/h', text: ({ pricePerHour }) => hourlyText(pricePerHour) },
  { header: 'Min bid', text: ({ minBid }) => hourlyText(minBid), wide: true },
  {
    header: 'Reliability',
    text: (row) => (row.reliability === undefined ? undefined : `${(row.reliability * 100).toFixed(1)}%`),
  },
  {
    header: 'Verified',
    text: ({ verified }) => (verified === undefined ? undefined : verified ? 'yes' : 'no'),
  },
  { header: 'Ports', text: ({ directPorts }) => directPorts },
  { header: 'Disk', text: ({ diskGB }) => (diskGB === undefined ? undefined : `${Math.floor(diskGB)}G`) },
  { header: 'Region', text: ({ region }) => region },
  { header: 'CPUs', text: ({ cpuCores }) => cpuCores, wide: true },
  { header: 'RAM', text: ({ memoryMB }) => gigabytes(memoryMB), wide: true },
  { header: 'CUDA', text: ({ cudaVersion }) => cudaVersion, wide: true },
  { header: 'DLPerf', text: ({ performance }) => performance?.toFixed(1), wide: true },
  { header: 'Machine', text: ({ machineId }) => machineId, wide: true },
  { header: 'Host', text: ({ hostId }) => hostId, wide: true },
  {
    header: 'For',
    text: (row) => (row.remainingSeconds === undefined ? undefined : ageText(row.remainingSeconds * 1000)),
    wide: true,
  },
];

const offerView: View<OfferRow> = { kind: 'offer', name: ({ id }) => id, columns };
