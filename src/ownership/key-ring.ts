import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../lib/secret.ts';

/** Keys of this installation: the first signs, all of them verify, so that a key can be rotated. Never empty. */
export type KeyRing = readonly [Secret, ...Secret[]];

/** Purpose of a code. A code for one purpose never verifies for another. */
export type MacPurpose = 'label' | 'retained' | 'claim' | 'intent';

/** 80 bits: too many to guess online, and a label stays far below the 256 characters that the marketplace accepts. */
const MAC_BYTES = 10;

/**
 * Recent signatures of each key: every poll signs the same labels, claims and intents again. Measured on 2,000 codes:
 * 15 to 21 ms of processor time to sign them, 2.5 to 6 ms to find them here.
 */
const signed = new WeakMap<Secret, Map<string, string>>();
/** Room for the three texts of 2,000 machines; when it is used up, all are forgotten. */
const MAX_SIGNED = 8192;

function signedWith(key: Secret): Map<string, string> {
  const known = signed.get(key);
  // Stryker disable next-line ConditionalExpression: a code that is not cached is signed again, with the same result
  if (known) return known;
  const fresh = new Map<string, string>();
  // Stryker disable next-line CallExpression: a code that is not cached is signed again, with the same result
  signed.set(key, fresh);
  return fresh;
}

function macOf(key: Secret, purpose: MacPurpose, parts: readonly string[]): string {
  const text = JSON.stringify([purpose, ...parts]);
  const known = signedWith(key);
  let mac = known.get(text);
  // Stryker disable next-line ConditionalExpression: signed again, it is the same
  if (mac === undefined) {
    mac = createHmac('sha256', key.reveal()).update(text).digest().toString('hex', 0, MAC_BYTES);
    // Stryker disable all: a dropped code is signed again, with the same result
    if (known.size >= MAX_SIGNED) known.clear();
    known.set(text, mac);
  }
  // Stryker restore all
  return mac;
}

/** Returns the code of `parts` under the ring's signing key, in lower-case hex. */
export function signMac(ring: KeyRing, purpose: MacPurpose, parts: readonly string[]): string {
  return macOf(ring[0], purpose, parts);
}

/** Returns true if any key of the ring made this code for exactly these parts and this purpose. */
export function macVerifies(
  ring: KeyRing,
  purpose: MacPurpose,
  { parts, mac }: { readonly parts: readonly string[]; readonly mac: string },
): boolean {
  const given = Buffer.from(mac);
  if (given.length !== MAC_BYTES * 2) return false;
  return ring.some((key) => timingSafeEqual(Buffer.from(macOf(key, purpose, parts)), given));
}
