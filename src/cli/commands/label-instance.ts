import { allInstances } from '../all-instances.ts';
import type { Command } from '../command.ts';
import { FORCE, type Intended, refuseOwned } from '../operator-machines.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

const INTENDED: Intended = {
  instead: 'leave its label alone: without it the operator does not know its machine',
  command: (id) => `gpu-rent label instance ${id} ""`,
};

/** Gives a machine another label. */
export const labelInstance: Command = {
  name: 'label instance',
  summary: 'Give a machine another label; an empty one takes it away.',
  description:
    'The operator knows its machines by their labels: one that carries such a label (gpurental1...) keeps it unless --force is given.',
  examples: ['gpu-rent label instance 4711 "training run 7"'],
  args: [
    { name: '<id>', description: 'The instance.' },
    { name: '<label>', description: 'The new label.' },
  ],
  options: [FORCE],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'instance');
    const label = input.args[1] ?? '';
    await withMarketplace(input, context, async ({ client }) => {
      const machines = (await allInstances(client)).filter((machine) => machine.id === id);
      refuseOwned(machines, input, INTENDED);
      await client.instances.label(id, label);
    });
    await createOutput(input, context).changed([
      { kind: 'instance', name: id, did: 'labelled', more: { label } },
    ]);
    return 0;
  },
};
