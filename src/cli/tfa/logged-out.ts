import type { Secret } from '../../lib/secret.ts';
import type { LoggedOutTfa } from '../../marketplace/tfa/tfa.ts';
import type { LoggedOutVerification } from '../../marketplace/tfa/verification.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { switchOption, textOption } from '../options/option-values.ts';
import { lookForApiKey } from '../secrets/api-key.ts';
import {
  backupCodeOf,
  challengeSecret,
  codeOf,
  methodIdOf,
  methodOption,
  requireTypedCode,
} from './verification.ts';

/* Callers who are logged out: the secret of a login is their only credential (specification 4.8). */

/** For the three commands whose calls take a secret in place of a key. */
export const LOGGED_OUT_OPTION = {
  flags: '--logged-out',
  description: 'Send no API key: the secret identifies you. Default where a secret and no key is found.',
};

/** The secret to call with in place of a key; undefined: a key is used, or missed where there is none either. */
export async function secretInsteadOfKey(
  { options }: CommandInput,
  context: CommandContext,
): Promise<Secret | undefined> {
  const isAsked = switchOption(options, '--logged-out');
  if (!isAsked && (await hasKey(options, context))) return undefined;
  const secret = await challengeSecret(options, context);
  if (secret || !isAsked) return secret;
  throw usageError(
    '--logged-out: the secret of the login is missing.',
    'Give --secret-file or GPU_RENT_TFA_SECRET.',
  );
}

/** A key that an option names is not read for this: it may come from stdin, which is read once. */
async function hasKey(options: OptionValues, context: CommandContext): Promise<boolean> {
  const isNamed = ['--api-key', '--api-key-file'].some((flag) => textOption(options, flag) !== undefined);
  return isNamed || (await lookForApiKey(options, context)) !== undefined;
}

/** What proves the second factor, and the client whose secret goes with it. */
interface LoggedOutProof {
  readonly tfa: LoggedOutTfa;
  readonly proof: LoggedOutVerification;
}

/** Sends a code where one is needed and none is given, asks for it, and gives back what completes the login. */
export async function loggedOutProof(
  tfaWith: (secret: Secret) => LoggedOutTfa,
  secret: Secret,
  { input: { options }, context }: { readonly input: CommandInput; readonly context: CommandContext },
): Promise<LoggedOutProof> {
  const tfa = tfaWith(secret);
  const backupCode = await backupCodeOf(options, context);
  if (backupCode !== undefined) return { tfa, proof: { backupCode } };
  const method = methodOption(options);
  if (method === undefined) {
    throw usageError(
      '--method: without an API key your methods cannot be looked up.',
      'Give totp, sms or email.',
    );
  }
  const methodId = methodIdOf(options);
  if (method === 'totp' || textOption(options, '--code') !== undefined) {
    return { tfa, proof: { method, code: await codeOf(options, context), ...methodId } };
  }
  requireTypedCode(method, options, context);
  const challenge = method === 'email' ? await tfa.sendEmailCode() : await tfa.sendSmsCode(methodId);
  context.stderr.write(`A code is on its way by ${method}; it is good for 10 minutes.\n`);
  const proof = { method, code: await codeOf(options, context), ...methodId };
  return { tfa: tfaWith(challenge.secret), proof };
}
