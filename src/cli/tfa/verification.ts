import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import type { CodeMethod } from '../../markets/vast/tfa/login.ts';
import type { CommandContext, CommandInput, CommandOption, OptionValues } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { parseId, textOption } from '../option-values.ts';
import { ask } from '../secrets/prompt.ts';
import { secretOf } from '../secrets/secret-input.ts';

type BearerTfa = MarketplaceClient['tfa'];

/** Options for the second factor; missing ones are prompted for. */
export const VERIFICATION_OPTIONS: readonly CommandOption[] = [
  { flags: '--method <method>', description: 'Transport of the code.', choices: ['totp', 'sms', 'email'] },
  { flags: '--method-id <id>', description: 'Id of the method, if there are several of one kind.' },
  { flags: '--code <code>', description: 'The code of six digits; prompts if left out.' },
  {
    flags: '--secret <secret>',
    description: 'Secret of the challenge that sent the code; see --secret-file.',
  },
  { flags: '--secret-file <file>', description: 'A file with that secret. Default: GPU_RENT_TFA_SECRET.' },
  { flags: '--backup-code-file <file>', description: 'Use a backup code: a file with it; - is stdin.' },
  { flags: '--use-backup-code', description: 'Use a backup code, asked for without echo.' },
];

/** The parts of a verification that the client's calls accept. */
export type Verification =
  | {
      readonly method: 'sms' | 'email';
      readonly code: string;
      readonly secret: Secret;
      readonly methodId?: string;
    }
  | { readonly method: 'totp'; readonly code: string; readonly methodId?: string }
  | { readonly backupCode: string };

/**
 * Sends a code if one is needed, prompts for missing parts, and returns the verification. Rejects with a usage error if
 * a code could not be used, and with a MarketplaceError.
 */
export async function verification(
  tfa: BearerTfa,
  { options }: CommandInput,
  context: CommandContext,
): Promise<Verification> {
  const backupCode = await backupCodeOf(options, context);
  if (backupCode !== undefined) return { backupCode };
  const method = methodOption(options) ?? (await usualMethod(tfa));
  const methodId = methodIdOf(options);
  if (method === 'totp') return { method, code: await codeOf(options, context), ...methodId };
  const given = await challengeSecret(options, context);
  if (!given) requireTypedCode(method, options, context);
  const secret = given ?? (await sendCode(tfa, { method, ...methodId }, context));
  return { method, code: await codeOf(options, context), secret, ...methodId };
}

/**
 * Throws a usage error before the service sends a code that could not be used: a given code belongs to an earlier
 * challenge, and without a terminal the new code cannot be typed, so its secret would be lost.
 */
export function requireTypedCode(method: string, options: OptionValues, { stdin }: CommandContext): void {
  if (textOption(options, '--code') !== undefined) {
    throw usageError(
      `--code: a code by ${method} belongs to the challenge that sent it.`,
      'Give the secret of that challenge too: --secret-file or GPU_RENT_TFA_SECRET.',
    );
  }
  if (stdin.isTTY) return;
  throw usageError(
    'No code was sent: stdin is not a terminal, so it could not be typed.',
    `In a script send it first: gpu-rent tfa send-code ${method}. Then give --code and --secret-file.`,
  );
}

/** Returns a backup code, if the options name one. Rejects with a usage error for an invalid form. */
export async function backupCodeOf(
  options: OptionValues,
  context: CommandContext,
): Promise<string | undefined> {
  const asked = options.useBackupCode === true;
  const code = await secretOf(options, context, {
    flag: '--backup-code',
    ...(asked ? { question: 'Backup code (not shown):' } : {}),
  });
  if (code === undefined) return undefined;
  const text = code.reveal().toUpperCase();
  if (/^[A-Z0-9]{4}(-[A-Z0-9]{4}){2}$/.test(text)) return text;
  throw usageError('The backup code has not the form XXXX-XXXX-XXXX.');
}

/** Returns `--method`, validated by commander. */
export function methodOption(options: OptionValues): CodeMethod | undefined {
  const method = textOption(options, '--method');
  return method === 'totp' || method === 'sms' || method === 'email' ? method : undefined;
}

/** Returns `--method-id` as a part of a request. */
export function methodIdOf(options: OptionValues): { readonly methodId?: string } {
  const methodId = textOption(options, '--method-id');
  return methodId === undefined ? {} : { methodId: parseId(methodId, '--method-id') };
}

/** Returns the secret of an earlier challenge. Rejects with a usage error if its file cannot be read. */
export function challengeSecret(options: OptionValues, context: CommandContext): Promise<Secret | undefined> {
  return secretOf(options, context, { flag: '--secret', env: 'GPU_RENT_TFA_SECRET' });
}

/** Returns the code of six digits: given, or from a prompt. Rejects with a usage error for any other text. */
export async function codeOf(options: OptionValues, context: CommandContext): Promise<string> {
  const given = textOption(options, '--code');
  const code = (given ?? (await ask(context, 'Code:', { instead: '--code' }))).replaceAll(/[\s-]/g, '');
  if (/^\d{6}$/.test(code)) return code;
  throw usageError('--code: a code has six digits.');
}

/**
 * Returns the primary method, otherwise the first; email if there is none. If the second factor is off no code is sent.
 */
async function usualMethod(tfa: BearerTfa): Promise<CodeMethod> {
  const { enabled, methods } = await tfa.status();
  if (!enabled) {
    throw failed('The second factor is off: no code would prove anything.', 'gpu-rent tfa add sets it up.');
  }
  const method = (methods.find(({ isPrimary }) => isPrimary) ?? methods[0])?.method;
  return method === 'totp' || method === 'sms' ? method : 'email';
}

/** Sends a code and returns the secret of its challenge. Rejects with a MarketplaceError. */
export async function sendCode(
  tfa: BearerTfa,
  { method, ...target }: { method: 'sms' | 'email'; methodId?: string; phoneNumber?: string },
  context: CommandContext,
): Promise<Secret> {
  const challenge = method === 'email' ? await tfa.sendEmailCode() : await tfa.sendSmsCode(target);
  context.stderr.write(`A code is on its way by ${method}; it is good for 10 minutes.\n`);
  return challenge.secret;
}
