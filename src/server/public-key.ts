import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';

let made: Promise<string> | undefined;

/**
 * An RSA public key in PEM, the same as long as the process lives. Workers of the public protocol call themselves broken
 * until they are given one. Nobody has the private half, so nobody can sign a call that such a worker would take.
 */
export function publicKeyPem(): Promise<string> {
  made ??= newPublicKey();
  return made;
}

async function newPublicKey(): Promise<string> {
  const { publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
}
