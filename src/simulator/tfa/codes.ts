import { createHmac } from 'node:crypto';
import { Secret } from 'otpauth';
import type { Random } from '../../lib/random.ts';

/** No letter or digit that a person can mistake for another. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
/** Bytes of a TOTP secret that are drawn (RFC 4226 recommends 160 bits), and that vouch for them. */
const DRAWN_BYTES = 20;
const SEAL_BYTES = 5;

/** Six decimal digits, leading zeros kept (specification 8: code length). */
export function sixDigits(random: Random): string {
  return String(Math.floor(random.next() * 1_000_000)).padStart(6, '0');
}

/** A one-time code of shape `XXXX-XXXX-XXXX` (specification 2.7). */
export function backupCode(random: Random): string {
  const letters = Array.from(random.bytes(12), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
  return `${letters.slice(0, 4)}-${letters.slice(4, 8)}-${letters.slice(8)}`;
}

/** An opaque secret that names a challenge. */
export function challengeSecret(random: Random): string {
  return Buffer.from(random.bytes(24)).toString('base64url');
}

/**
 * A TOTP secret for one user, in base32: 160 random bits and a seal over them, so that confirm-new recognizes
 * what totp-setup issued to that user without a stored row (nothing is added before the confirmation).
 */
export function issueTotpSecret(random: Random, userId: number): string {
  const drawn = Buffer.from(random.bytes(DRAWN_BYTES));
  return base32(Buffer.concat([drawn, sealOf(drawn, userId)]));
}

/** Whether totp-setup issued this secret to this user. */
export function isIssuedTotpSecret(secret: string, userId: number): boolean {
  const bytes = Buffer.from(Secret.fromBase32(secret).bytes);
  const drawn = bytes.subarray(0, DRAWN_BYTES);
  return base32(Buffer.concat([drawn, sealOf(drawn, userId)])) === secret;
}

const sealOf = (drawn: Uint8Array, userId: number): Buffer =>
  createHmac('sha256', `totp-setup of user ${userId}`).update(drawn).digest().subarray(0, SEAL_BYTES);

const base32 = (bytes: Buffer): string => new Secret({ buffer: Uint8Array.from(bytes).buffer }).base32;
