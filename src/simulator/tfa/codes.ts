import type { Random } from '../../lib/random.ts';

/** No letter or digit that a person can mistake for another. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

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

/** 160 random bits in base32: the length RFC 4226 recommends for a shared secret. */
export function totpSecret(random: Random): string {
  return Array.from(random.bytes(32), (byte) => BASE32[byte % BASE32.length]).join('');
}
