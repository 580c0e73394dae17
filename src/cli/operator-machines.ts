import type { Instance } from '../marketplace/instances/instance.ts';
import type { CommandInput, CommandOption } from './command.ts';
import { failed } from './failures/command-error.ts';
import { switchOption } from './options/option-values.ts';
import { printableLine } from './output/printable.ts';

/** Lets a command change machines of an operator. */
export const FORCE: CommandOption = {
  flags: '--force',
  description: 'Also machines that carry the label of an operator.',
};

/** What a command would do to a machine, for who has to do otherwise. */
export interface Intended {
  /** What to do instead if an object owns the machine. */
  readonly instead: string;
  /** The same command line for one machine, without --force. */
  readonly command: (id: string) => string;
}

/** Rejects if one of the machines carries an operator's label, because an object may own it; --force allows all. */
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
