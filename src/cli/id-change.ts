import type { MarketplaceClient } from '../markets/vast/client.ts';
import type { Instance } from '../markets/vast/instances/instance.ts';
import { printableLine } from '../views/printable.ts';
import { allInstances } from './all-instances.ts';
import type { Command, CommandInput, CommandOption } from './command.ts';
import { failed } from './command-error.ts';
import { parseIds, switchOption } from './option-values.ts';
import { changeOneByOne } from './output/one-by-one.ts';
import { createOutput } from './output/output.ts';
import { confirmed, YES } from './secrets/prompt.ts';
import { withMarketplace } from './sessions/marketplace-session.ts';

/** Lets a command change machines of an operator. */
export const FORCE: CommandOption = {
  flags: '--force',
  description: 'Include machines with the label of an operator.',
};

/** An intended change of a machine, for the advice. */
export interface Intended {
  /** Advice if an object owns the machine. */
  readonly instead: string;
  /** The same command line for one machine, without --force. */
  readonly command: (id: string) => string;
}

/**
 * Rejects if one of the machines carries an operator's label, because an object may own it; --force skips this check.
 */
export async function refuseOwned(
  machines: readonly Instance[],
  { options }: CommandInput,
  { instead, command }: Intended,
): Promise<void> {
  const { hasOperatorPrefix } = await import('../ownership/label.ts');
  const owned = machines.find(({ label }) => hasOperatorPrefix(label));
  if (!owned || switchOption(options, '--force')) return;
  throw failed(
    `Instance ${owned.id} belongs to an operator (label ${printableLine(owned.label ?? '')}); nothing was changed.`,
    `If an object owns it, ${instead}. If \`gpu-rent orphans\` lists it, none does: ${command(owned.id)} --force`,
  );
}

/** A change of things that are named by id only. */
export interface IdChange {
  /** Verb as typed before the kind, e.g. `delete`. */
  readonly verb: string;
  readonly kind: string;
  readonly did: string;
  readonly description?: string;
  readonly change: (client: MarketplaceClient, id: string) => Promise<unknown>;
  /** Advice, if machines of an operator need --force. */
  readonly ownedInstead?: string;
  /** Question at a terminal if the change is irreversible, for ids such as `12, 13`. */
  readonly question?: (ids: string) => string;
}

/** Returns the command of such a change: it changes one id after another and stops at the first failure. */
export function idChangeCommand(definition: IdChange): Command {
  const { verb, kind, did, change, ownedInstead, question, ...texts } = definition;
  const options = [...(question === undefined ? [] : [YES]), ...(ownedInstead === undefined ? [] : [FORCE])];
  return {
    ...texts,
    examples: [`gpu-rent ${verb} ${kind} 12`],
    args: [{ name: '<id...>', description: `Which ${kind}.` }],
    ...(options.length === 0 ? {} : { options }),
    optionSets: ['output', 'marketplace'],
    async run(input, context) {
      const ids = parseIds(input.args, kind);
      const output = createOutput(input, context);
      if (question) await confirmed(question(ids.join(', ')), input, context);
      await withMarketplace(input, context, async ({ client }) => {
        if (ownedInstead !== undefined) {
          const machines = (await allInstances(client)).filter(({ id }) => ids.includes(id));
          const command = (id: string) => `gpu-rent ${verb} ${kind} ${id}`;
          await refuseOwned(machines, input, { instead: ownedInstead, command });
        }
        await changeOneByOne(output, ids, async (id) => {
          await change(client, id);
          return { kind, name: id, did };
        });
      });
      return 0;
    },
  };
}
