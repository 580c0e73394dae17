import { createHmac } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

/**
 * The token that a worker and the operator show each other. Nobody without the key ring can guess it, and it
 * need not be stored before the machine is rented: the rental and the connection Secret derive the same.
 */
export function workerToken(
  keys: KeyRing,
  rental: { readonly uid: string; readonly attempt: number },
): string {
  return createHmac('sha256', keys[0].reveal())
    .update(JSON.stringify(['worker-token', rental.uid, String(rental.attempt)]))
    .digest('base64url');
}
