import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { authorizeAddition } from '../tfa/authorization.ts';
import { namedCodesFile, SAVE_CODES_OPTION } from '../tfa/backup-codes.ts';
import { confirmRequest, labelOption, reportConfirmation } from '../tfa/confirmation.ts';
import { codeOf, sendCode } from '../tfa/verification.ts';
import { smsTarget } from './tfa-send-code.ts';

/** Adds a method in one dialogue: authorize, send or show, confirm, keep the backup codes. */
export const tfaAdd: Command = {
  name: 'tfa add',
  summary: 'Set up an authenticator app or SMS, step by step.',
  description:
    'Asks for a code that authorizes the addition (by email, an existing method or a backup code), then for one that proves the new method. The first method brings ten backup codes, shown once.',
  examples: ['gpu-rent tfa add totp --label phone', 'gpu-rent tfa add sms --phone +14155550100'],
  args: [{ name: '<method>', description: 'totp or sms.' }],
  options: [
    { flags: '--phone <number>', description: 'The number of an SMS method (E.164).' },
    { flags: '--label <text>', description: 'A name of at most 30 characters.' },
    {
      flags: '--by <method>',
      description: 'How the authorizing code comes.',
      choices: ['email', 'sms', 'totp'],
    },
    { flags: '--use-backup-code', description: 'Authorize by a backup code, asked for without echo.' },
    { flags: '--backup-code-file <file>', description: 'The same out of a file.' },
    SAVE_CODES_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const [method] = input.args;
    if (method !== 'totp' && method !== 'sms') throw usageError(`"${method}" is neither totp nor sms.`);
    labelOption(input.options);
    if (!context.stdin.isTTY) {
      throw usageError(
        'tfa add asks for codes, and stdin is not a terminal.',
        'In a script use tfa authorize, then tfa totp-setup or tfa send-code sms, then tfa confirm.',
      );
    }
    await using file = await namedCodesFile(input);
    const confirmation = await withMarketplace(input, context, async ({ client: { tfa } }) => {
      const { newMethodAuthorized } = await tfa.status();
      if (!newMethodAuthorized) await authorizeAddition(tfa, authorizingInput(input), context);
      const secret = await newSecret(tfa, method, { input, context });
      return tfa.confirmNewMethod(
        confirmRequest(input.options, { method, code: await codeOf({}, context), secret }),
      );
    });
    await reportConfirmation(method, confirmation, { input, context, file });
    return 0;
  },
};

/** `--by` chooses how to authorize; everything else of that step is asked for. */
function authorizingInput({ options }: CommandInput): CommandInput {
  const { by, useBackupCode, backupCodeFile } = options;
  return { args: [], options: { method: by, useBackupCode, backupCodeFile } };
}

async function newSecret(
  tfa: MarketplaceClient['tfa'],
  method: 'totp' | 'sms',
  { input, context }: { input: CommandInput; context: CommandContext },
): Promise<Secret> {
  if (method === 'sms') {
    return sendCode(tfa, { method, ...smsTarget(input.options) }, context);
  }
  const made = await tfa.setUpTotp();
  context.stderr.write(`Add this to your authenticator app, then type the code that it shows:\n`);
  context.stderr.write(`  secret   ${made.secret.reveal()}\n  address  ${made.provisioningUri.reveal()}\n`);
  return made.secret;
}
