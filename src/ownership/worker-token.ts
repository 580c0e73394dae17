import { createHmac } from 'node:crypto';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';

/**
 * Returns the token with which a worker and the operator authenticate each other. It cannot be guessed without the
 * key ring. It need not be stored before the machine is rented: the rental and the connection Secret derive the same
 * token.
 */
export function workerToken(
  keys: KeyRing,
  rental: { readonly uid: string; readonly attempt: number },
): string {
  return createHmac('sha256', keys[0].reveal())
    .update(JSON.stringify(['worker-token', rental.uid, String(rental.attempt)]))
    .digest('base64url');
}

/** Returns the token of the worker that a GpuInstance describes now; undefined before it rents, or without keys. */
export function tokenOfWorker(
  keys: KeyRing | undefined,
  { metadata, status }: Pick<GpuInstance, 'metadata' | 'status'>,
): Secret | undefined {
  if (!keys || metadata.uid === undefined || status?.attempt === undefined) return undefined;
  return new Secret(workerToken(keys, { uid: metadata.uid, attempt: status.attempt }));
}
