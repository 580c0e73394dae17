import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withLoggedOut, withMarketplace } from '../sessions/marketplace-session.ts';
import { LOGGED_OUT_OPTION, secretInsteadOfKey } from '../tfa/logged-out.ts';
import { challengeSecret } from '../tfa/verification.ts';
import { smsTarget } from './tfa-send-code.ts';

/** Sends the code of an SMS challenge again. */
export const tfaResend: Command = {
  name: 'tfa resend',
  summary: 'Send the code of an SMS again.',
  examples: ['gpu-rent tfa resend --secret-file challenge.txt'],
  options: [
    { flags: '--phone <number>', description: 'The same number as the first time.' },
    { flags: '--method-id <id>', description: 'The SMS method, where there are several.' },
    { flags: '--secret <secret>', description: 'Of the challenge; see --secret-file.' },
    { flags: '--secret-file <file>', description: 'A file with that secret. Default: GPU_RENT_TFA_SECRET.' },
    LOGGED_OUT_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const target = smsTarget(input.options);
    const alone = await secretInsteadOfKey(input, context);
    const secret = alone ?? (await challengeSecret(input.options, context));
    const known = secret === undefined ? {} : { secret };
    const challenge = alone
      ? await withLoggedOut(input, context, (tfaWith) => tfaWith(alone).resendSmsCode(target))
      : await withMarketplace(input, context, ({ client }) =>
          client.tfa.resendSmsCode({ ...target, ...known }),
        );
    context.stderr.write('The code is on its way again.\n');
    await createOutput(input, context).value(
      { channel: 'sms', secret: challenge.secret.reveal() },
      challenge.secret.reveal(),
    );
    return 0;
  },
};
