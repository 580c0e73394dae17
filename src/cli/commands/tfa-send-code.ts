import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withLoggedOut, withMarketplace } from '../sessions/marketplace-session.ts';
import { LOGGED_OUT_OPTION, secretInsteadOfKey } from '../tfa/logged-out.ts';
import { challengeSecret, methodIdOf } from '../tfa/verification.ts';

/** Sends a code by email or SMS; the secret that comes back goes with the code. */
export const tfaSendCode: Command = {
  name: 'tfa send-code',
  summary: 'Send a code by email or SMS.',
  description:
    'Prints the secret of the challenge, which goes with the code to the command that uses it (--secret-file, GPU_RENT_TFA_SECRET). It is good for 10 minutes. The commands that need a code send one by themselves.',
  examples: [
    'gpu-rent tfa send-code email',
    'gpu-rent tfa send-code sms --phone +14155550100',
    'gpu-rent tfa send-code email --logged-out --secret-file login.txt',
  ],
  args: [{ name: '<channel>', description: 'email or sms.' }],
  options: [
    {
      flags: '--phone <number>',
      description: 'Where an SMS goes (E.164); the number on file where left out.',
    },
    { flags: '--method-id <id>', description: 'The SMS method, where there are several.' },
    { flags: '--secret <secret>', description: 'Go on with this challenge; see --secret-file.' },
    { flags: '--secret-file <file>', description: 'A file with that secret. Default: GPU_RENT_TFA_SECRET.' },
    LOGGED_OUT_OPTION,
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const { options } = input;
    const [channel] = input.args;
    if (channel !== 'email' && channel !== 'sms') throw usageError(`"${channel}" is neither email nor sms.`);
    const target = smsTarget(options);
    const alone = await secretInsteadOfKey(input, context);
    const secret = alone ?? (await challengeSecret(options, context));
    const known = secret === undefined ? {} : { secret };
    const challenge = alone
      ? await withLoggedOut(input, context, (tfaWith) =>
          channel === 'email' ? tfaWith(alone).sendEmailCode() : tfaWith(alone).sendSmsCode(target),
        )
      : await withMarketplace(input, context, ({ client: { tfa } }) =>
          channel === 'email' ? tfa.sendEmailCode(known) : tfa.sendSmsCode({ ...known, ...target }),
        );
    context.stderr.write(`A code is on its way by ${channel}; it is good for 10 minutes.\n`);
    await createOutput(input, context).value(
      { channel, secret: challenge.secret.reveal() },
      challenge.secret.reveal(),
    );
    return 0;
  },
};

/** Where an SMS goes, as the options say. */
export function smsTarget(options: Readonly<Record<string, unknown>>) {
  const phoneNumber = textOption(options, '--phone');
  if (phoneNumber !== undefined && !/^\+[1-9]\d{5,14}$/.test(phoneNumber)) {
    throw usageError(`--phone: "${phoneNumber}" is no number such as +14155550100.`);
  }
  return { ...(phoneNumber === undefined ? {} : { phoneNumber }), ...methodIdOf(options) };
}
