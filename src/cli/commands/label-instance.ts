import type { Command } from '../command.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Gives a machine another label. */
export const labelInstance: Command = {
  name: 'label instance',
  summary: 'Give a machine another label; an empty one takes it away.',
  description:
    'The operator knows its machines by their labels: a label that begins with gpurental1 is better left alone.',
  examples: ['gpu-rent label instance 4711 "training run 7"'],
  args: [
    { name: '<id>', description: 'The instance.' },
    { name: '<label>', description: 'The new label.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'instance');
    const label = input.args[1] ?? '';
    await withMarketplace(input, context, ({ client }) => client.instances.label(id, label));
    await createOutput(input, context).changed([
      { kind: 'instance', name: id, did: 'labelled', more: { label } },
    ]);
    return 0;
  },
};
