import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import type { CodeMethod } from '../../markets/vast/tfa/login.ts';
import type { Confirmation } from '../../markets/vast/tfa/methods.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { usageError } from '../command-error.ts';
import { textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { ask } from '../secrets/prompt.ts';
import { reserveSecretFile, type SecretFile } from '../secrets/secret-file.ts';
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
type Authorization = { readonly type: 'granted' } | { readonly type: 'pending'; readonly secret: Secret };

const GRANTED: Authorization = { type: 'granted' };

/**
 * Opens the 30 minutes in which a method may be added (specification 3.3): immediately with a backup code, otherwise
 * after a sent code was confirmed. If code and secret are given it runs only the second step. Without a terminal for
 * the code it runs only the first, and returns its secret. Rejects with a usage error before it sends a code that
 * could not be used, and with a MarketplaceError.
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

/** Places where users find the code. */
const WHERE: Readonly<Record<CodeMethod | 'unknown', string>> = {
  totp: 'Look at your authenticator',
  sms: 'A code is on its way by SMS',
  email: 'A code is on its way by email',
  unknown: 'The code comes from the method that you named',
};

/** Returns the request; by email unless another method is named: every account has email, whatever its methods. */
function authorizationRequest(options: OptionValues) {
  const method = methodOption(options);
  const { methodId } = methodIdOf(options);
  if (methodId === undefined) return { method: method ?? 'email' } as const;
  return method === undefined ? { methodId } : { method, methodId };
}

/** Maximum characters of a label (specification 8). */
const LABEL_LIMIT = 30;

/** Returns a request that adds a method, with label and phone number from the options. */
export function confirmRequest(
  options: OptionValues,
  proof: { method: 'sms' | 'totp'; code: string; secret: Secret },
) {
  const { method, code, secret } = proof;
  const label = labelOption(options);
  const named = { code, secret, ...(label === undefined ? {} : { label }) };
  if (method === 'totp') return { method, ...named };
  const phoneNumber = textOption(options, '--phone');
  return { method, ...named, ...(phoneNumber === undefined ? {} : { phoneNumber }) };
}

/** Returns `--label`. Throws a usage error if it is longer than the service accepts. */
export function labelOption(options: OptionValues): string | undefined {
  const label = textOption(options, '--label');
  if (label !== undefined && label.length > LABEL_LIMIT) {
    throw usageError(`--label: ${label.length} characters; at most ${LABEL_LIMIT} are allowed.`);
  }
  return label;
}

/** Prints that a method was added, and backup codes if it was the first. */
export async function reportConfirmation(
  method: string,
  { backupCodes }: Confirmation,
  { input, context, file }: { input: CommandInput; context: CommandContext; file: CodesFile | undefined },
): Promise<void> {
  const kept = backupCodes && (await keepBackupCodes(backupCodes, file, context));
  const text = `The ${method} method is set up.\n${kept ? keptCodesText(kept) : ''}`;
  await createOutput(input, context).value({ method, added: true, ...kept }, text);
}

/** Destination of backup codes; a terminal offers a file. */
export const SAVE_CODES_OPTION = {
  flags: '--save-codes <file>',
  description: 'Write new backup codes to a file of mode 0600 instead of showing them.',
};

/** Result of saving new backup codes. */
type KeptCodes = { readonly backupCodes: readonly string[] } | { readonly backupCodesSavedTo: string };

/** A file for codes, and its path. */
interface CodesFile extends SecretFile {
  readonly path: string;
}

/**
 * Returns the file of `--save-codes`, created before codes exist that could be lost. Rejects with a usage error if it
 * cannot be created.
 */
export async function namedCodesFile({ options }: CommandInput): Promise<CodesFile | undefined> {
  const path = textOption(options, '--save-codes');
  return path === undefined ? undefined : openCodesFile(path, '--save-codes');
}

/**
 * Saves the backup codes, which the service shows once: in the named file, or one that the user names at a terminal.
 * Otherwise, and if writing fails, they are part of the result: it never rejects because of a file.
 */
export async function keepBackupCodes(
  codes: readonly Secret[],
  named: CodesFile | undefined,
  context: CommandContext,
): Promise<KeptCodes> {
  const texts = codes.map((code) => code.reveal());
  await using offered = named ? undefined : await offeredFile(context).catch(() => undefined);
  const file = named ?? offered;
  if (!file) return { backupCodes: texts };
  try {
    await file.write(texts.join('\n'));
    return { backupCodesSavedTo: file.path };
  } catch (error) {
    const { describeFailure } = await import('../failures/describe-failure.ts');
    context.stderr.write(`${describeFailure(error).lines.join('\n')}\n`);
    return { backupCodes: texts };
  }
}

async function openCodesFile(path: string, flag: string): Promise<CodesFile> {
  return { ...(await reserveSecretFile(path, flag)), path };
}

async function offeredFile(context: CommandContext): Promise<CodesFile | undefined> {
  if (!context.stdin.isTTY || !context.stderr.isTTY) return undefined;
  const question = 'New backup codes, shown this once. File to save them to (empty: show them):';
  for (;;) {
    const path = await ask(context, question, { instead: '--save-codes' });
    if (path === '') return undefined;
    const file = await openCodesFile(path, 'File').catch(async (error: unknown) => {
      const { describeFailure } = await import('../failures/describe-failure.ts');
      context.stderr.write(`${describeFailure(error).lines.join('\n')}\n`);
    });
    if (file) return file;
  }
}

/** Returns the result as text. */
export function keptCodesText(kept: KeptCodes): string {
  if ('backupCodesSavedTo' in kept) return `Backup codes saved to ${kept.backupCodesSavedTo} (mode 0600).\n`;
  return `Backup codes, each good once and not shown again:\n${kept.backupCodes.map((code) => `  ${code}\n`).join('')}`;
}
