import type { Instance } from '../../marketplace/instances/instances.ts';
import { allInstances } from '../all-instances.ts';
import type { Command } from '../command.ts';
import { notFound } from '../failures/command-error.ts';
import { FORCE, type Intended, refuseOwned } from '../operator-machines.ts';
import { parseIds } from '../options/option-values.ts';
import { dollarText, inDollars } from '../output/amounts.ts';
import { changeOneByOne } from '../output/one-by-one.ts';
import { createOutput } from '../output/output.ts';
import { printableLine } from '../output/printable.ts';
import { confirmed, YES } from '../secrets/prompt.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

const INTENDED: Intended = {
  instead: 'delete that object, or the operator rents another',
  command: (id) => `gpu-rent destroy instance ${id}`,
};

/** Destroys machines for ever. */
export const destroyInstance: Command = {
  name: 'destroy instance',
  summary: 'Destroy machines with everything on them; billing ends.',
  description:
    'Asks before it destroys when stdin is a terminal. A machine that carries the label of an operator is refused: delete the object that owns it, or the operator rents another. One that no object owns, as gpu-rent orphans shows it, is destroyed with --force.',
  examples: [
    'gpu-rent destroy instance 4711',
    'gpu-rent destroy instance 4711 4712 --yes',
    'gpu-rent destroy instance 4711 --force',
  ],
  args: [{ name: '<id...>', description: 'The instances.' }],
  options: [YES, FORCE],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const ids = parseIds(input.args, 'instance');
    const output = createOutput(input, context);
    return withMarketplace(input, context, async ({ client }) => {
      const listed = await allInstances(client);
      const wanted = ids.map((id) => listedInstance(listed, id));
      refuseOwned(wanted, input, INTENDED);
      await confirmed(question(wanted), input, context);
      await changeOneByOne(output, ids, async (id) => {
        await client.instances.destroy(id);
        return { kind: 'instance', name: id, did: 'destroyed' };
      });
      return 0;
    });
  },
};

function listedInstance(listed: readonly Instance[], id: number): Instance {
  const instance = listed.find((row) => row.id === id);
  if (instance) return instance;
  throw notFound(
    `There is no instance ${id}; nothing was destroyed.`,
    'gpu-rent list instances shows those there are.',
  );
}

function question(wanted: readonly Instance[]): string {
  const names = wanted.map(({ id, gpuName, pricePerHour }) => {
    const price = dollarText(inDollars(pricePerHour));
    return `${id}${gpuName ? ` (${printableLine(gpuName)}${price ? `, ${price}/h` : ''})` : ''}`;
  });
  return `Destroy ${names.join(', ')} with everything on ${wanted.length === 1 ? 'it' : 'them'}?`;
}
