import type { OfferFilter } from '../../market/offer.ts';
import type { Volume, VolumeOffer } from '../../markets/vast/volumes.ts';
import { dollarText, inDollars, timeText } from '../../views/amounts.ts';
import type { Command } from '../command.ts';
import { usageError } from '../command-error.ts';
import { mayHaveBought, uncertainPurchase } from '../failures/uncertain-purchase.ts';
import { commandsOf } from '../noun.ts';
import { dollarsOption, listOption, numberOption, parseId, parseIds, textOption } from '../option-values.ts';
import { SEARCH_OPTIONS, searchWords } from '../options/offer-query.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Default filters of public clients. */
const DEFAULTS: readonly OfferFilter[] = [
  { field: 'verified', operator: 'eq', value: true },
  { field: 'external', operator: 'eq', value: false },
  { field: 'disk_space', operator: 'gte', value: 1 },
];

const volumeOffer = commandsOf({
  noun: 'volume-offer',
  row: (offer: VolumeOffer) => ({ ...offer, pricePerGBMonth: inDollars(offer.pricePerGBMonth) }),
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Size', text: ({ sizeGB }) => size(sizeGB) },
    { header: '$/GB/month', text: ({ pricePerGBMonth }) => dollarText(pricePerGBMonth) },
    {
      header: 'Bandwidth',
      text: ({ bandwidthMBps }) => (bandwidthMBps ? `${Math.round(bandwidthMBps)} MB/s` : undefined),
    },
    { header: 'Disk', text: ({ diskName }) => diskName },
    { header: 'Machine', text: ({ machineId }) => machineId },
    { header: 'Host', text: ({ hostId }) => hostId, wide: true },
    { header: 'Region', text: ({ region }) => region },
  ],
});

const volume = commandsOf({
  noun: 'volume',
  row: (rented: Volume) => ({ ...rented, startedAt: timeText(rented.startedAt) }),
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Label', text: ({ label }) => label },
    { header: 'Status', text: ({ status }) => status },
    { header: 'Size', text: ({ sizeGB }) => size(sizeGB) },
    { header: 'Machine', text: ({ machineId }) => machineId },
    { header: 'Disk', text: ({ diskName }) => diskName, wide: true },
    { header: 'Since', text: ({ startedAt }) => startedAt },
  ],
});

function size(gigabytes: number | undefined): string | undefined {
  return gigabytes === undefined ? undefined : `${Math.floor(gigabytes)}G`;
}

/** Finds disk for rent. */
export const searchVolumes = volumeOffer.list({
  examples: ["gpu-rent search volumes 'disk_space>=200 geolocation=US' --order storage_cost"],
  args: [{ name: '[query...]', description: 'Requirements of a listing, as in search offers.' }],
  options: [...SEARCH_OPTIONS, { flags: '--size <gb>', description: 'Gigabytes of the price. Default: 1.' }],
  async query(input) {
    const words = await searchWords(input, DEFAULTS, 'score-');
    return { ...words, sizeGB: numberOption(input.options, '--size', { min: 1 }) ?? 1 };
  },
  find: (client, query) => client.volumes.search(query),
});

/** Rents a part of a volume listing; sent once and never repeated. */
export const rentVolume: Command = {
  examples: ['gpu-rent rent volume 815 --size 100 --name datasets'],
  args: [{ name: '<offer>', description: 'The id of a listing (gpu-rent search volumes).' }],
  options: [
    { flags: '--size <gb>', description: 'GB. Default: 15.' },
    { flags: '--name <name>', description: 'A name for it.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const offerId = parseId(input.args[0], 'volume offer');
    const sizeGB = numberOption(input.options, '--size', { min: 1 }) ?? 15;
    const name = textOption(input.options, '--name');
    const request = { offerId, sizeGB, ...(name === undefined ? {} : { name }) };
    const rented = await withMarketplace(input, context, ({ client }) =>
      client.volumes.rent(request).catch(rejectUncertain),
    );
    const called = rented.name ?? name;
    const more = { name: called, offerId, sizeGB };
    await createOutput(input, context).changed([
      // Services name a new volume `V.<id>`; all other commands use the id.
      {
        kind: 'volume',
        name: /^V\.(\d+)$/.exec(rented.name ?? '')?.[1] ?? called ?? offerId,
        did: 'rented',
        more,
      },
    ]);
    return 0;
  },
};

/** Rejects with the failure of a rent; if it may have had an effect, with the checks to make. */
async function rejectUncertain(error: unknown): Promise<never> {
  if (!mayHaveBought(error)) throw error;
  throw await uncertainPurchase(error, {
    found: 'The rent was sent once; a volume may exist and bill.',
    remedy: 'Check before you rent another: gpu-rent list volumes',
  });
}

/** Shows the volumes that the login rents. */
export const listVolumes = volume.list({
  examples: ['gpu-rent list volumes', 'gpu-rent list volumes --type network'],
  options: [{ flags: '--type <type>', description: 'Default: all.', choices: ['all', 'local', 'network'] }],
  query: ({ options }) => textOption(options, '--type'),
  find: (client, type) => client.volumes.list(type === 'local' || type === 'network' ? type : 'all'),
});

export const deleteVolume = volume.change('delete', {
  did: 'deleted',
  question: (ids) => `Delete volume ${ids} with everything on it?`,
  change: (client, id) => client.volumes.delete(id),
});

/** For hosts: offers disk for rent. */
export const offerVolume: Command = {
  examples: ['gpu-rent offer volume --machine 11 --machine 12 --size 500 --price 0.12'],
  options: [
    { flags: '--machine <id>', description: 'A machine of yours; repeatable.', repeatable: true },
    { flags: '--size <gb>', description: 'GB on each.' },
    { flags: '--price <dollars>', description: 'Per GB and month.' },
    { flags: '--until <timestamp>', description: 'When the listing ends, e.g. 2027-01-31T00:00:00Z.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const machineIds = parseIds(listOption(options, '--machine'), '--machine');
    const sizeGB = numberOption(options, '--size', { min: 1 });
    const pricePerGBMonth = dollarsOption(options, '--price');
    if (sizeGB === undefined || pricePerGBMonth === undefined) {
      throw usageError('Size and price are missing.', 'Give --size and --price.');
    }
    const until = textOption(options, '--until');
    const endsAt = until === undefined ? undefined : endOf(until);
    const listing = { machineIds, sizeGB, pricePerGBMonth, ...(endsAt === undefined ? {} : { endsAt }) };
    await withMarketplace(input, context, ({ client }) => client.volumes.offer(listing));
    await createOutput(input, context).changed(
      machineIds.map((id) => ({ kind: 'machine', name: id, did: `offers ${sizeGB} GB` })),
    );
    return 0;
  },
};

function endOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw usageError(`--until: "${text}" is not a time such as 2027-01-31T00:00:00Z.`);
  return time;
}

export const unlistVolume = volume.change('unlist', {
  did: 'unlisted',
  change: (client, id) => client.volumes.unlist(id),
});
