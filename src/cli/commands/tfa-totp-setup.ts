import type { Command } from '../command.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Makes a secret for an authenticator. Nothing is added before it is confirmed. */
export const tfaTotpSetup: Command = {
  name: 'tfa totp-setup',
  summary: 'Make a secret for an authenticator app; it counts once it is confirmed.',
  description:
    'Prints the secret and its otpauth address. gpu-rent tfa confirm --method totp --secret-file … adds it; gpu-rent tfa add totp does all in one dialogue.',
  examples: ['gpu-rent tfa totp-setup -o json'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const made = await withMarketplace(input, context, ({ client }) => client.tfa.setUpTotp());
    const secret = made.secret.reveal();
    const provisioningUri = made.provisioningUri.reveal();
    await createOutput(input, context).value(
      { secret, provisioningUri },
      `Secret:   ${secret}\nAddress:  ${provisioningUri}\n`,
    );
    return 0;
  },
};
