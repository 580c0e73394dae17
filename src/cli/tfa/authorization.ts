import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { backupCodeOf, challengeSecret, codeOf, methodIdOf, methodOption } from './verification.ts';

type BearerTfa = MarketplaceClient['tfa'];

/**
 * Grants the 30 minutes in which a method may be added (specification 3.3): by a backup code at once, otherwise
 * a code is sent, waited for and confirmed. With code and secret at hand only the second step is taken.
 */
export async function authorizeAddition(
  tfa: BearerTfa,
  { options }: CommandInput,
  context: CommandContext,
): Promise<void> {
  const backupCode = await backupCodeOf(options, context);
  if (backupCode !== undefined) {
    await tfa.authorizeNewMethod({ backupCode });
    return;
  }
  const secret = (await challengeSecret(options, context)) ?? (await begin(tfa, options, context));
  if (secret === undefined) return;
  await tfa.confirmAuthorization({ code: await codeOf(options, context), secret });
}

async function begin(tfa: BearerTfa, options: CommandInput['options'], context: CommandContext) {
  const method = methodOption(options);
  const chosen = method === undefined ? {} : { method };
  const begun = await tfa.authorizeNewMethod({ ...chosen, ...methodIdOf(options) });
  if (begun.type === 'authorized') return undefined;
  const where =
    method === 'totp' ? 'Look at your authenticator' : `A code is on its way by ${method ?? 'email'}`;
  context.stderr.write(`${where}; it authorizes a new method.\n`);
  return begun.secret;
}
