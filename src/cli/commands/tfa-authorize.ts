import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { authorizeAddition } from '../tfa/authorization.ts';
import { VERIFICATION_OPTIONS } from '../tfa/verification.ts';

/** Grants the 30 minutes in which a method may be added. */
export const tfaAuthorize: Command = {
  name: 'tfa authorize',
  summary: 'Allow a new method to be added within 30 minutes.',
  description:
    'Sends a code, waits for it and confirms. gpu-rent tfa add does this and the rest in one dialogue.',
  examples: ['gpu-rent tfa authorize', 'gpu-rent tfa authorize --method totp --code 123456'],
  options: VERIFICATION_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    await withMarketplace(input, context, ({ client }) => authorizeAddition(client.tfa, input, context));
    await createOutput(input, context).value(
      { authorized: true, minutes: 30 },
      'A new method may be added within the next 30 minutes.',
    );
    return 0;
  },
};
