import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { namedCodesFile, SAVE_CODES_OPTION } from '../tfa/backup-codes.ts';
import { confirmRequest, reportConfirmation } from '../tfa/confirmation.ts';
import { challengeSecret, codeOf } from '../tfa/verification.ts';

/** Adds a method, within 30 minutes of its authorization. */
export const tfaConfirm: Command = {
  name: 'tfa confirm',
  summary: 'Add a method whose code you have, after tfa authorize.',
  description:
    'The secret is that of the SMS challenge, or the one that totp-setup made. The first method brings ten backup codes, shown once.',
  examples: [
    'gpu-rent tfa confirm --method totp --secret-file totp.txt --code 123456 --label phone',
    'gpu-rent tfa confirm --method sms --secret-file challenge.txt --phone +14155550100',
  ],
  options: [
    { flags: '--method <method>', description: 'Default: totp.', choices: ['totp', 'sms'] },
    { flags: '--code <code>', description: 'The code of six digits. Asked for where it is left out.' },
    { flags: '--secret <secret>', description: 'Better in a file: see --secret-file.' },
    { flags: '--secret-file <file>', description: 'A file with the secret. Default: GPU_RENT_TFA_SECRET.' },
    { flags: '--phone <number>', description: 'The number of an SMS method (E.164).' },
    { flags: '--label <text>', description: 'A name of at most 30 characters.' },
    SAVE_CODES_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const method = options.method === 'sms' ? 'sms' : 'totp';
    const secret = await challengeSecret(options, context);
    if (!secret) throw usageError('The secret is missing.', 'Give --secret-file, or use gpu-rent tfa add.');
    const request = confirmRequest(options, { method, code: await codeOf(options, context), secret });
    await using file = await namedCodesFile(input);
    const confirmation = await withMarketplace(input, context, ({ client }) =>
      client.tfa.confirmNewMethod(request),
    );
    await reportConfirmation(method, confirmation, { input, context, file });
    return 0;
  },
};
