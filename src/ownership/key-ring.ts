import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../lib/secret.ts';

/** Keys of this installation: the first signs, all of them verify, so that a key can be rotated. Never empty. */
export type KeyRing = readonly [Secret, ...Secret[]];

/** What a code stands for. A code made for one purpose never verifies for another. */
export type MacPurpose = 'label' | 'retained' | 'claim' | 'intent';

/** 80 bits: nobody guesses one online, and a label stays far below the 256 characters a service accepts. */
const MAC_BYTES = 10;

function digest(key: Secret, purpose: MacPurpose, parts: readonly string[]): Buffer {
  return createHmac('sha256', key.reveal())
    .update(JSON.stringify([purpose, ...parts]))
    .digest()
    .subarray(0, MAC_BYTES);
}

/** The code of `parts` under the ring's signing key, in lower-case hex. */
export function signMac(ring: KeyRing, purpose: MacPurpose, parts: readonly string[]): string {
  return digest(ring[0], purpose, parts).toString('hex');
}

/** Whether any key of the ring made this code for exactly these parts and this purpose. */
export function macVerifies(
  ring: KeyRing,
  purpose: MacPurpose,
  signed: { parts: readonly string[]; mac: string },
): boolean {
  if (!/^[0-9a-f]+$/.test(signed.mac) || signed.mac.length !== MAC_BYTES * 2) return false;
  const given = Buffer.from(signed.mac, 'hex');
  return ring.some((key) => timingSafeEqual(digest(key, purpose, signed.parts), given));
}
