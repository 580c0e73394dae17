import type { Secret } from '../../lib/secret.ts';
import type { Confirmation } from '../../marketplace/tfa/methods.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { type CodesFile, keepBackupCodes, keptCodesText } from './backup-codes.ts';

/** Most characters of a label (specification 8). */
const LABEL_LIMIT = 30;

/** A request that adds a method: label and phone number as the options say. */
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

/** `--label`, within what the service takes. */
export function labelOption(options: OptionValues): string | undefined {
  const label = textOption(options, '--label');
  if (label !== undefined && label.length > LABEL_LIMIT) {
    throw usageError(`--label: ${label.length} characters; at most ${LABEL_LIMIT} are allowed.`);
  }
  return label;
}

/** Says that a method was added, and gives out backup codes where it was the first. */
export async function reportConfirmation(
  method: string,
  { backupCodes }: Confirmation,
  { input, context, file }: { input: CommandInput; context: CommandContext; file: CodesFile | undefined },
): Promise<void> {
  const kept = backupCodes && (await keepBackupCodes(backupCodes, file, context));
  const text = `The ${method} method is set up.\n${kept ? keptCodesText(kept) : ''}`;
  await createOutput(input, context).value({ method, added: true, ...kept }, text);
}
