import type { Command, CommandInput } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { VERIFICATION_OPTIONS, type Verification, verification } from '../tfa/verification.ts';

/** Removes a method; with the last one the second factor is off. */
export const tfaDelete: Command = {
  name: 'tfa delete',
  summary: 'Remove a method; with the last one the second factor is off.',
  examples: ['gpu-rent tfa delete 3', 'gpu-rent tfa delete --method totp --code 123456'],
  args: [{ name: '[id]', description: 'The method to remove; the one that verifies where left out.' }],
  options: VERIFICATION_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const removal = await withMarketplace(input, context, async ({ client: { tfa } }) =>
      tfa.removeMethod(removeRequest(input, await verification(tfa, input, context))),
    );
    const { remainingMethods } = removal;
    const text =
      remainingMethods === undefined
        ? 'The last method is removed: the second factor is off, and its backup codes are void.'
        : `The method is removed; ${remainingMethods} remain.`;
    await createOutput(input, context).value(
      { removed: true, remainingMethods: remainingMethods ?? 0 },
      text,
    );
    return 0;
  },
};

function removeRequest({ args }: CommandInput, proof: Verification) {
  const targetId = args[0] === undefined ? undefined : parseId(args[0], 'method');
  if (!('backupCode' in proof)) return { ...proof, ...(targetId === undefined ? {} : { targetId }) };
  if (targetId === undefined) {
    throw usageError(
      'A backup code proves no method: which one is to be removed?',
      'gpu-rent tfa status shows the ids.',
    );
  }
  return { ...proof, targetId };
}
