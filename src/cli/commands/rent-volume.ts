import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { Command } from '../command.ts';
import { failed } from '../failures/command-error.ts';
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
    await createOutput(input, context).changed([
      { kind: 'volume', name: rented.name ?? name ?? offerId, did: 'rented', more: { offerId, sizeGB } },
    ]);
    return 0;
  },
};

function orUncertain(error: unknown): unknown {
  if (!(error instanceof MarketplaceError) || error.outcome === 'refused') return error;
  const remedy = 'Look before you rent another: gpu-rent list volumes';
  return failed(
    `${error.message}. It was sent once and not repeated; a volume may exist and bill.`,
    remedy,
    error,
  );
}
