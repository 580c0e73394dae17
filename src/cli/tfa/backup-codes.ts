import type { Secret } from '../../lib/secret.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { describeFailure } from '../failures/describe-failure.ts';
import { textOption } from '../options/option-values.ts';
import { ask } from '../secrets/prompt.ts';
import { reserveSecretFile, type SecretFile } from '../secrets/secret-file.ts';

/** Where backup codes go; a file is offered at a terminal. */
export const SAVE_CODES_OPTION = {
  flags: '--save-codes <file>',
  description: 'Write new backup codes to a file of mode 0600 instead of showing them.',
};

/** What became of new backup codes. */
export type KeptCodes = { readonly backupCodes: readonly string[] } | { readonly backupCodesSavedTo: string };

/** A file for codes, and where it is. */
export interface CodesFile extends SecretFile {
  readonly path: string;
}

/** The file that `--save-codes` names, made before there are codes that could be lost. */
export async function namedCodesFile({ options }: CommandInput): Promise<CodesFile | undefined> {
  const path = textOption(options, '--save-codes');
  return path === undefined ? undefined : openCodesFile(path, '--save-codes');
}

/**
 * Backup codes come once: they go to the file that was named, or that a person at a terminal names when asked.
 * Otherwise, and whatever goes wrong on the way, they are part of the result.
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
    const file = await openCodesFile(path, 'File').catch((error: unknown) => {
      context.stderr.write(`${describeFailure(error).lines.join('\n')}\n`);
    });
    if (file) return file;
  }
}

/** The same for people. */
export function keptCodesText(kept: KeptCodes): string {
  if ('backupCodesSavedTo' in kept) return `Backup codes saved to ${kept.backupCodesSavedTo} (mode 0600).\n`;
  return `Backup codes, each good once and not shown again:\n${kept.backupCodes.map((code) => `  ${code}\n`).join('')}`;
}
