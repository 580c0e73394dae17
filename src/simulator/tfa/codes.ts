import { createHmac } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Random } from '../../lib/random.ts';
import { BACKUP_CODES_PER_SET } from '../settings.ts';
import type { BackupCode } from '../tables/tfa.ts';
import { type TfaStep, tfaRefusal } from './step.ts';

/** Letters and digits that cannot be mistaken for one another. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
/** Random bytes of a TOTP secret (RFC 4226 recommends 160 bits), and bytes of the seal over them. */
const RANDOM_BYTES = 20;
const SEAL_BYTES = 5;

/** Returns six decimal digits with leading zeros (specification 8: code length). */
export function sixDigits(random: Random): string {
  return String(Math.floor(random.next() * 1_000_000)).padStart(6, '0');
}

/** Returns a one-time code of shape `XXXX-XXXX-XXXX` (specification 2.7). */
export function backupCode(random: Random): string {
  const letters = Array.from(random.bytes(12), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
  return `${letters.slice(0, 4)}-${letters.slice(4, 8)}-${letters.slice(8)}`;
}

/** Returns an opaque secret that identifies a challenge. */
export function challengeSecret(random: Random): string {
  return Buffer.from(random.bytes(24)).toString('base64url');
}

/**
 * Returns a TOTP secret for one user, in base32: 160 random bits and a seal over them, so that confirm-new recognizes a
 * secret of totp-setup for that user without a stored row (nothing is added before the confirmation).
 */
export function issueTotpSecret(random: Random, userId: number): string {
  const randomBytes = Buffer.from(random.bytes(RANDOM_BYTES));
  return base32(Buffer.concat([randomBytes, sealOf(randomBytes, userId)]));
}

/** Returns true if totp-setup issued this secret to this user. */
export function isIssuedTotpSecret(secret: string, userId: number): boolean {
  const bytes = Buffer.from(Secret.fromBase32(secret).bytes);
  const randomBytes = bytes.subarray(0, RANDOM_BYTES);
  return base32(Buffer.concat([randomBytes, sealOf(randomBytes, userId)])) === secret;
}

const sealOf = (randomBytes: Uint8Array, userId: number): Buffer =>
  createHmac('sha256', `totp-setup of user ${userId}`).update(randomBytes).digest().subarray(0, SEAL_BYTES);

const base32 = (bytes: Buffer): string => new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32;

const STEP_MS = 30_000;
const ISSUER = 'GPU Rental';
const BASE32_SECRET = /^[A-Z2-7]{16,128}=*$/;

/** Returns true if a string is a valid TOTP secret: base32 of at least 80 bits. */
export function isTotpSecret(secret: string): boolean {
  return BASE32_SECRET.test(secret);
}

/** Returns the otpauth URI that authenticator apps scan (SHA-1, 6 digits, 30 s: the defaults of RFC 6238). */
export function provisioningUri(secret: string, account: string): string {
  return new TOTP({ issuer: ISSUER, label: account, secret: Secret.fromBase32(secret) }).toString();
}

/**
 * Returns the time step of this code, within `window` steps of `at` either way; undefined if none matches. RFC 6238
 * section 5.2.
 */
export function totpStep(
  secret: string,
  attempt: { code: string; at: number; window: number },
): number | undefined {
  const delta = TOTP.validate({
    token: attempt.code,
    secret: Secret.fromBase32(secret),
    timestamp: attempt.at,
    window: attempt.window,
  });
  return delta === null ? undefined : Math.floor(attempt.at / STEP_MS) + delta;
}

/** Retires every code and issues ten new ones, in plaintext only this once (specification 2.7). */
export function issueBackupCodes(step: TfaStep): readonly string[] {
  retireBackupCodes(step);
  const codes = new Set<string>();
  while (codes.size < BACKUP_CODES_PER_SET) codes.add(backupCode(step.random));
  for (const code of codes) step.account.backupCodes.push({ code, usedAt: null, deletedAt: null });
  return [...codes];
}

/** Marks every code as deleted: rows stay, none verifies. */
export function retireBackupCodes(step: TfaStep): void {
  for (const row of step.account.backupCodes) row.deletedAt ??= step.now;
}

/** Marks a code as used. Throws `invalid_backup_code` if it is unknown, used or retired. */
export function useBackupCode(step: TfaStep, code: string): void {
  const sent = code.trim().toUpperCase();
  const row = step.account.backupCodes.find((candidate) => candidate.code === sent && isUsable(candidate));
  if (!row) throw tfaRefusal('invalid_backup_code', 'The backup code is invalid or was already used.');
  row.usedAt = step.now;
}

/** Returns the codes that would still verify. */
export function backupCodesRemaining(backupCodes: readonly BackupCode[]): number {
  return backupCodes.filter(isUsable).length;
}

function isUsable(row: BackupCode): boolean {
  return row.usedAt === null && row.deletedAt === null;
}
