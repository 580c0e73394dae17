import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { parseId, switchOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { labelOption } from '../tfa/confirmation.ts';
import { methodRow, methodView } from '../views/tfa.ts';

/** Names a method, or makes it the primary one. */
export const tfaUpdate: Command = {
  name: 'tfa update',
  summary: 'Name a method, or make it the primary one.',
  examples: ['gpu-rent tfa update 3 --label "work phone"', 'gpu-rent tfa update totp --primary'],
  args: [{ name: '<method>', description: 'Its id; or totp or sms where there is one of that kind.' }],
  options: [
    { flags: '--label <text>', description: 'At most 30 characters.' },
    { flags: '--primary', description: 'Ask for this one first.' },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const label = labelOption(input.options);
    const isPrimary = switchOption(input.options, '--primary');
    if (label === undefined && !isPrimary)
      throw usageError('Nothing to change was given.', 'Give --label or --primary.');
    const changes = { ...(label === undefined ? {} : { label }), ...(isPrimary ? { isPrimary } : {}) };
    const [name] = input.args;
    const which =
      name === 'totp' || name === 'sms' ? ({ method: name } as const) : { methodId: parseId(name, 'method') };
    const method = await withMarketplace(input, context, ({ client }) =>
      client.tfa.updateMethod({ ...which, ...changes }),
    );
    await createOutput(input, context).row(methodView, methodRow(method));
    return 0;
  },
};
