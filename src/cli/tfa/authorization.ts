import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { CodeMethod } from '../../marketplace/tfa/verification.ts';
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
  const request = authorizationRequest(options);
  const begun = await tfa.authorizeNewMethod(request);
  if (begun.type === 'authorized') return undefined;
  context.stderr.write(`${WHERE[request.method ?? 'unknown']}; it authorizes a new method.\n`);
  return begun.secret;
}

/** Where its owner finds the code. */
const WHERE: Readonly<Record<CodeMethod | 'unknown', string>> = {
  totp: 'Look at your authenticator',
  sms: 'A code is on its way by SMS',
  email: 'A code is on its way by email',
  unknown: 'The code comes from the method that you named',
};

/** By email where nothing else is asked for: every account has it, whatever it has set up. */
function authorizationRequest(options: CommandInput['options']) {
  const method = methodOption(options);
  const { methodId } = methodIdOf(options);
  if (methodId === undefined) return { method: method ?? 'email' } as const;
  return method === undefined ? { methodId } : { method, methodId };
}
