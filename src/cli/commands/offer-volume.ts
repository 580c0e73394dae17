import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { listOption, numberOption, parseIds, textOption } from '../options/option-values.ts';
import { dollarsOption } from '../output/amounts.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** For hosts: puts disk up for rent. */
export const offerVolume: Command = {
  name: 'offer volume',
  summary: 'For hosts: put disk of machines up for rent.',
  examples: ['gpu-rent offer volume --machine 11 --machine 12 --size 500 --price 0.12'],
  options: [
    { flags: '--machine <id>', description: 'A machine of yours; repeatable.', repeatable: true },
    { flags: '--size <gb>', description: 'GB on each.' },
    { flags: '--price <dollars>', description: 'Per GB and month.' },
    { flags: '--until <time>', description: 'When the listing ends, e.g. 2027-01-31T00:00:00Z.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const machineIds = parseIds(listOption(options, '--machine'), '--machine');
    const sizeGB = numberOption(options, '--size', { min: 1 });
    const pricePerGBMonth = dollarsOption(options, '--price');
    if (sizeGB === undefined || pricePerGBMonth === undefined) {
      throw usageError('How much disk, at which price?', 'Give --size and --price.');
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
  if (Number.isNaN(time)) throw usageError(`--until: "${text}" is no time such as 2027-01-31T00:00:00Z.`);
  return time;
}
