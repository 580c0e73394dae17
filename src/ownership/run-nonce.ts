import { createHmac } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

/** Length of a nonce. Its characters are valid in a file name and as a word of a shell. */
const NONCE_LENGTH = 12;

/** A rental of an object. */
interface RunRental {
  readonly uid: string;
  readonly attempt: number;
}

/**
 * Returns the nonce that marks the result of one rental of a run. It is not stored, so that a crash between the answer
 * to a rental and its record loses nothing.
 */
export function runNonce(keys: KeyRing, rental: RunRental): string {
  return nonceOf(keys[0].reveal(), rental);
}

/** Returns the nonces that the rental may have under any key of the ring, the present one first. */
export function runNonces(keys: KeyRing, rental: RunRental): readonly string[] {
  return keys.map((key) => nonceOf(key.reveal(), rental));
}

function nonceOf(key: string, { uid, attempt }: RunRental): string {
  const text = JSON.stringify(['run-nonce', uid, String(attempt)]);
  return createHmac('sha256', key).update(text).digest('hex').slice(0, NONCE_LENGTH);
}
