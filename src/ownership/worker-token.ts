import { createHmac, timingSafeEqual } from 'node:crypto';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';

/** Rental of an object. */
interface Rental {
  readonly uid: string;
  readonly attempt: number;
}

/**
 * Returns the token with which a worker and the operator authenticate each other. It cannot be guessed without the
 * key ring. It need not be stored before the machine is rented: the rental and the connection Secret derive the same
 * token.
 */
export function workerToken(keys: KeyRing, rental: Rental): string {
  return codeOf(keys[0], 'worker-token', rental);
}

/**
 * Returns the proof by which the machine of a rental recognizes the operator's reply that renews its lease. The machine
 * sends it to no server.
 */
export function leaseProof(keys: KeyRing, rental: Rental): string {
  return codeOf(keys[0], 'lease-proof', rental);
}

/**
 * Returns the proof for the present machine of an object; undefined if `shown` is not the token of that machine. The
 * machine has a token of the key that was the first of the ring at its rental.
 */
export function provenLease(
  keys: KeyRing | undefined,
  { metadata: { uid }, status }: Pick<GpuInstance, 'metadata' | 'status'>,
  shown: string,
): string | undefined {
  const attempt = status?.attempt;
  if (!keys || uid === undefined || attempt === undefined) return undefined;
  const rental = { uid, attempt };
  const key = keys.find((each) => isSame(shown, codeOf(each, 'worker-token', rental)));
  return key && codeOf(key, 'lease-proof', rental);
}

function codeOf(key: Secret, purpose: 'lease-proof' | 'worker-token', { uid, attempt }: Rental): string {
  return createHmac('sha256', key.reveal())
    .update(JSON.stringify([purpose, uid, String(attempt)]))
    .digest('base64url');
}

/** Compares a text that a caller showed with a token, in a time that shows nothing of the token. */
export function isSame(shown: string, token: string): boolean {
  const [a, b] = [Buffer.from(shown), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Returns the token of the worker that a GpuInstance describes now; undefined before it rents, or without keys. */
export function tokenOfWorker(
  keys: KeyRing | undefined,
  { metadata, status }: Pick<GpuInstance, 'metadata' | 'status'>,
): Secret | undefined {
  if (!keys || metadata.uid === undefined || status?.attempt === undefined) return undefined;
  return new Secret(workerToken(keys, { uid: metadata.uid, attempt: status.attempt }));
}
