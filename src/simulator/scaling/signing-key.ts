import { createSign, generateKeyPairSync } from 'node:crypto';
import type { SigningKey } from '../tables/signing-keys.ts';

/** A fresh pair. Takes some tenths of a second, so it is made when a route is first asked for. */
export function newSigningKey(id: number): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    id,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }),
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

/** What a worker verifies: exactly this text, with four spaces and real line feeds. */
function signedText(url: string): string {
  return `{\n    "url": "${url}"\n}`;
}

/** Base64 of RSA PKCS#1 v1.5 with SHA-256 over {@link signedText}. */
export function signRoute(key: SigningKey, url: string): string {
  return createSign('sha256').update(signedText(url)).sign(key.privatePem, 'base64');
}
