import type { Instance } from '../../marketplace/instances/instances.ts';
import { allInstances } from '../all-instances.ts';
import type { Command, CommandInput } from '../command.ts';
import { failed, notFound } from '../failures/command-error.ts';
import { parseIds, switchOption } from '../options/option-values.ts';
import { dollarText, inDollars } from '../output/amounts.ts';
import { changeOneByOne } from '../output/one-by-one.ts';
import { createOutput } from '../output/output.ts';
import { printableLine } from '../output/printable.ts';
import { confirm } from '../secrets/prompt.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

const OPERATOR_LABEL = /^gpurental1(-retained)?:/;

/** Destroys machines for ever. */
export const destroyInstance: Command = {
  name: 'destroy instance',
  summary: 'Destroy machines with everything on them; billing ends.',
  description:
    'Asks before it destroys when stdin is a terminal. A machine that the operator rents for an object of a cluster is refused: delete the object, or the operator rents another.',
  examples: ['gpu-rent destroy instance 4711', 'gpu-rent destroy instance 4711 4712 --yes'],
  args: [{ name: '<id...>', description: 'The instances.' }],
  options: [
    { flags: '-y, --yes', description: 'Do not ask.' },
    { flags: '--force', description: 'Also machines that carry the label of an operator.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const ids = parseIds(input.args, 'instance');
    const output = createOutput(input, context);
    return withMarketplace(input, context, async ({ client }) => {
      const listed = await allInstances(client);
      const wanted = ids.map((id) => listedInstance(listed, id));
      refuseOwned(wanted, input);
      if (!switchOption(input.options, '--yes') && !(await confirm(context, question(wanted), true))) {
        throw failed('Nothing was destroyed.');
      }
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

function refuseOwned(wanted: readonly Instance[], { options }: CommandInput): void {
  const owned = wanted.find(({ label }) => OPERATOR_LABEL.test(label ?? ''));
  if (!owned || switchOption(options, '--force')) return;
  throw failed(
    `Instance ${owned.id} belongs to an operator (label ${owned.label}).`,
    'Delete the object that owns it, look at `gpu-rent orphans`, or add --force.',
  );
}

function question(wanted: readonly Instance[]): string {
  const names = wanted.map(({ id, gpuName, pricePerHour }) => {
    const price = dollarText(inDollars(pricePerHour));
    return `${id}${gpuName ? ` (${printableLine(gpuName)}${price ? `, ${price}/h` : ''})` : ''}`;
  });
  return `Destroy ${names.join(', ')} with everything on ${wanted.length === 1 ? 'it' : 'them'}?`;
}
