import type { Command } from '../command.ts';
import { mayHaveBought, uncertainPurchase } from '../failures/uncertain-purchase.ts';
import { numberOption, parseId, textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Rents a part of a volume listing; sent once and never repeated. */
export const rentVolume: Command = {
  name: 'rent volume',
  summary: 'Rent disk as a volume.',
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
      client.volumes.rent(request).catch((error: unknown) => Promise.reject(orUncertain(error))),
    );
    const called = rented.name ?? name;
    const more = { name: called, offerId, sizeGB };
    await createOutput(input, context).changed([
      { kind: 'volume', name: idOf(rented.name) ?? called ?? offerId, did: 'rented', more },
    ]);
    return 0;
  },
};

function orUncertain(error: unknown): unknown {
  if (!mayHaveBought(error)) return error;
  return uncertainPurchase(error, {
    found: 'It was sent once and not repeated; a volume may exist and bill.',
    remedy: 'Look before you rent another: gpu-rent list volumes',
  });
}

/** Services name a new volume `V.<id>`; every other command takes the id. */
function idOf(name: string | undefined): number | undefined {
  const [, digits] = /^V\.(\d+)$/.exec(name ?? '') ?? [];
  return digits === undefined ? undefined : Number(digits);
}
