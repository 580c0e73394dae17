import type { Secret } from '../../lib/secret.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { textOption } from '../option-values.ts';
import { ask } from '../prompt.ts';
import { saveSecret } from '../rent-options.ts';

/** Where backup codes go; a file is offered at a terminal. */
export const SAVE_CODES_OPTION = {
  flags: '--save-codes <file>',
  description: 'Write new backup codes to a file of mode 0600 instead of showing them.',
};

/** What became of new backup codes. */
export type KeptCodes = { readonly backupCodes: readonly string[] } | { readonly backupCodesSavedTo: string };

/**
 * Backup codes come once: they are saved where a file is named, otherwise they are part of the result, and a
 * person at a terminal is offered a file.
 */
export async function keepBackupCodes(
  codes: readonly Secret[],
  { options }: CommandInput,
  context: CommandContext,
): Promise<KeptCodes> {
  const path = textOption(options, '--save-codes') ?? (await offeredFile(context));
  const texts = codes.map((code) => code.reveal());
  if (path === undefined) return { backupCodes: texts };
  await saveSecret(path, texts.join('\n'));
  return { backupCodesSavedTo: path };
}

async function offeredFile(context: CommandContext): Promise<string | undefined> {
  if (!context.stdin.isTTY || !context.stderr.isTTY) return undefined;
  const question = 'New backup codes, shown this once. File to save them to (empty: show them):';
  const path = await ask(context, question, { instead: '--save-codes' });
  return path === '' ? undefined : path;
}

/** The same for people. */
export function keptCodesText(kept: KeptCodes): string {
  if ('backupCodesSavedTo' in kept) return `Backup codes saved to ${kept.backupCodesSavedTo} (mode 0600).\n`;
  return `Backup codes, each good once and not shown again:\n${kept.backupCodes.map((code) => `  ${code}\n`).join('')}`;
}
