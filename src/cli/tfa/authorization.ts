import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { CodeMethod } from '../../marketplace/tfa/verification.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { textOption } from '../options/option-values.ts';
import {
  backupCodeOf,
  challengeSecret,
  codeOf,
  methodIdOf,
  methodOption,
  requireTypedCode,
} from './verification.ts';

type BearerTfa = MarketplaceClient['tfa'];

/** Granted, or waiting for the code of the challenge with that secret. */
export type Authorization =
  | { readonly type: 'granted' }
  | { readonly type: 'pending'; readonly secret: Secret };

const GRANTED: Authorization = { type: 'granted' };

/**
 * Grants the 30 minutes in which a method may be added (specification 3.3): by a backup code at once, otherwise
 * a code is sent, waited for and confirmed. With code and secret at hand only the second step is taken; where no
 * terminal is there to type the code only the first, and its secret comes back.
 */
export async function authorizeAddition(
  tfa: BearerTfa,
  { options }: CommandInput,
  context: CommandContext,
): Promise<Authorization> {
  const backupCode = await backupCodeOf(options, context);
  if (backupCode !== undefined) {
    await tfa.authorizeNewMethod({ backupCode });
    return GRANTED;
  }
  const known = await challengeSecret(options, context);
  const begun = known ? ({ type: 'pending', secret: known } as const) : await begin(tfa, options, context);
  const isTyped = textOption(options, '--code') !== undefined || context.stdin.isTTY === true;
  if (begun.type === 'granted' || (!known && !isTyped)) return begun;
  await tfa.confirmAuthorization({ code: await codeOf(options, context), secret: begun.secret });
  return GRANTED;
}

async function begin(tfa: BearerTfa, options: OptionValues, context: CommandContext): Promise<Authorization> {
  const request = authorizationRequest(options);
  const isSent = request.method === 'sms' || request.method === 'email';
  if (isSent && textOption(options, '--code') !== undefined)
    requireTypedCode(request.method, options, context);
  const begun = await tfa.authorizeNewMethod(request);
  if (begun.type === 'authorized') return GRANTED;
  context.stderr.write(`${WHERE[request.method ?? 'unknown']}; it authorizes a new method.\n`);
  return { type: 'pending', secret: begun.secret };
}

/** Where its owner finds the code. */
const WHERE: Readonly<Record<CodeMethod | 'unknown', string>> = {
  totp: 'Look at your authenticator',
  sms: 'A code is on its way by SMS',
  email: 'A code is on its way by email',
  unknown: 'The code comes from the method that you named',
};

/** By email where nothing else is asked for: every account has it, whatever it has set up. */
function authorizationRequest(options: OptionValues) {
  const method = methodOption(options);
  const { methodId } = methodIdOf(options);
  if (methodId === undefined) return { method: method ?? 'email' } as const;
  return method === undefined ? { methodId } : { method, methodId };
}
