import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { authorizeAddition } from '../tfa/authorization.ts';
import { VERIFICATION_OPTIONS } from '../tfa/verification.ts';

const NEXT = 'gpu-rent tfa authorize --code CODE --secret-file FILE';

/** Grants the 30 minutes in which a method may be added. */
export const tfaAuthorize: Command = {
  name: 'tfa authorize',
  summary: 'Allow a new method to be added within 30 minutes.',
  description:
    'Sends a code, waits for it at a terminal and confirms. Without a terminal it prints the secret of the challenge instead of waiting; call it again with --code and that secret (--secret-file, GPU_RENT_TFA_SECRET) to confirm. The code and secret of gpu-rent tfa send-code confirm as well. gpu-rent tfa add does all of this in one dialogue.',
  examples: [
    'gpu-rent tfa authorize',
    'gpu-rent tfa authorize --method totp --code 123456',
    'gpu-rent tfa authorize --method email -o json > challenge.json',
    'gpu-rent tfa authorize --code 123456 --secret-file challenge.txt',
  ],
  options: VERIFICATION_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const output = createOutput(input, context);
    const authorization = await withMarketplace(input, context, ({ client }) =>
      authorizeAddition(client.tfa, input, context),
    );
    if (authorization.type === 'granted') {
      const text = 'A new method may be added within the next 30 minutes.';
      await output.value({ authorized: true, minutes: 30 }, text);
      return 0;
    }
    const secret = authorization.secret.reveal();
    context.stderr.write(`The code is good for 10 minutes. Then run: ${NEXT}\n`);
    await output.value({ authorized: false, secret, next: NEXT }, secret);
    return 0;
  },
};
