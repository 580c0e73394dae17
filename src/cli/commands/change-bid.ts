import type { Command } from '../command.ts';
import { parseId } from '../options/option-values.ts';
import { exactDollars, parseAmount } from '../output/amounts.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Raises or lowers the bid of an interruptible machine. */
export const changeBid: Command = {
  name: 'change bid',
  summary: 'Change the bid of an interruptible machine.',
  examples: ['gpu-rent change bid 4711 0.35', 'gpu-rent change bid 4711'],
  args: [
    { name: '<id>', description: 'The instance.' },
    { name: '[price]', description: 'Dollars per hour; left out: the price that wins now.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const [idText, priceText] = input.args;
    const id = parseId(idText, 'instance');
    const bid = priceText === undefined ? null : parseAmount(priceText, 'price');
    await withMarketplace(input, context, ({ client }) => client.instances.changeBid(id, bid));
    const did = bid === null ? 'bid set to the winning price' : `bid set to ${exactDollars(bid)}/h`;
    await createOutput(input, context).changed([{ kind: 'instance', name: id, did }]);
    return 0;
  },
};
