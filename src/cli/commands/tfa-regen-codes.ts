import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { keepBackupCodes, keptCodesText, namedCodesFile, SAVE_CODES_OPTION } from '../tfa/backup-codes.ts';
import { VERIFICATION_OPTIONS, verification } from '../tfa/verification.ts';

/** Replaces all backup codes by ten new ones. */
export const tfaRegenCodes: Command = {
  name: 'tfa regen-codes',
  summary: 'Replace all backup codes by ten new ones, shown once.',
  examples: ['gpu-rent tfa regen-codes --save-codes backup-codes.txt'],
  options: [...VERIFICATION_OPTIONS, SAVE_CODES_OPTION],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    await using file = await namedCodesFile(input);
    const codes = await withMarketplace(input, context, async ({ client: { tfa } }) =>
      tfa.regenerateBackupCodes(await verification(tfa, input, context)),
    );
    const kept = await keepBackupCodes(codes, file, context);
    await createOutput(input, context).value(kept, keptCodesText(kept));
    return 0;
  },
};
