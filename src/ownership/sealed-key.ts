import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';

/** Owner of the key: the machine of this object, rented as this attempt. */
export interface MachineFacts {
  readonly uid: string;
  readonly attempt: number;
  readonly instanceId: string;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const cipherKeys = new WeakMap<Secret, Buffer>();

function cipherKeyOf(ringKey: Secret): Buffer {
  const known = cipherKeys.get(ringKey);
  // Stryker disable next-line ConditionalExpression: derived again, it is the same
  if (known) return known;
  const key = Buffer.from(hkdfSync('sha256', ringKey.reveal(), '', 'sealed-instance-key', 32));
  cipherKeys.set(ringKey, key);
  return key;
}

const boundTo = ({ uid, attempt, instanceId }: MachineFacts): Buffer =>
  Buffer.from(JSON.stringify([uid, String(attempt), instanceId]));

/**
 * Returns the key that the marketplace issues once for a machine, encrypted (AES-256-GCM) under the ring's first key,
 * so that the status can contain it. The result is Base64url of nonce, text and tag. The nonce is a code of the sealed
 * text: the same text is sealed alike, and no two texts share one.
 */
export function sealKey(ring: KeyRing, machine: MachineFacts, key: Secret): string {
  const cipherKey = cipherKeyOf(ring[0]);
  const bound = boundTo(machine);
  const text = key.reveal();
  const nonce = createHmac('sha256', cipherKey).update(bound).update(text).digest().subarray(0, NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, cipherKey, nonce).setAAD(bound);
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}

/**
 * Returns the key that {@link sealKey} sealed for exactly this machine under any key of the ring; undefined otherwise.
 * Never throws.
 */
export function openKey(ring: KeyRing, machine: MachineFacts, sealed: string): Secret | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  for (const ringKey of ring) {
    const decipher = createDecipheriv(CIPHER, cipherKeyOf(ringKey), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(boundTo(machine))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
      return new Secret(Buffer.concat([decipher.update(text), decipher.final()]).toString());
    } catch {
      // Sealed under another key of the ring, for another machine, or edited.
    }
  }
  return undefined;
}
