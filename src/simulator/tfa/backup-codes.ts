import type { BackupCode } from '../tables/tfa.ts';
import { backupCode } from './codes.ts';
import { BACKUP_CODES_PER_SET } from './settings.ts';
import type { TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';

/** Retires every code and issues ten new ones, in plaintext this once (specification 2.7). */
export function issueBackupCodes(step: TfaStep): readonly string[] {
  retireBackupCodes(step);
  const codes = new Set<string>();
  while (codes.size < BACKUP_CODES_PER_SET) codes.add(backupCode(step.random));
  for (const code of codes) step.account.backupCodes.push({ code, usedAt: null, deletedAt: null });
  return [...codes];
}

/** Soft-deletes every code: rows stay, none verifies. */
export function retireBackupCodes(step: TfaStep): void {
  for (const row of step.account.backupCodes) row.deletedAt ??= step.now;
}

/** Uses a code up. A code that is unknown, used or retired is `invalid_backup_code`. */
export function useBackupCode(step: TfaStep, code: string): void {
  const wanted = code.trim().toUpperCase();
  const row = step.account.backupCodes.find((candidate) => candidate.code === wanted && isUsable(candidate));
  if (!row) throw tfaRefusal('invalid_backup_code', 'The backup code is invalid or was already used.');
  row.usedAt = step.now;
}

/** Codes that would still verify. */
export function backupCodesRemaining(backupCodes: readonly BackupCode[]): number {
  return backupCodes.filter(isUsable).length;
}

function isUsable(row: BackupCode): boolean {
  return row.usedAt === null && row.deletedAt === null;
}
