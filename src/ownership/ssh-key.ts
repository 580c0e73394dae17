import { createHmac, createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { Secret } from '../lib/secret.ts';
import type { KeyRing } from './key-ring.ts';

/** Key pair with which this installation logs in to its own machines. */
export interface SshKeyPair {
  /** In the format of OpenSSH, not encrypted. */
  readonly privateKey: Secret;
  /** Line of `authorized_keys`. */
  readonly publicKey: string;
}

const KEY_TYPE = 'ssh-ed25519';
/** DER prefix of an Ed25519 private key (RFC 8410, section 7); 32 bytes follow. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const BLOCK_BYTES = 8;
const LINE_LENGTH = 70;

const pairs = new WeakMap<Secret, SshKeyPair>();

/**
 * Returns the SSH key pair of the installation, derived from the first key of its ring: the Secret of the identity is
 * the only one to store, back up and rotate.
 */
export function sshKeyOf([ringKey]: KeyRing): SshKeyPair {
  const known = pairs.get(ringKey);
  if (known) return known;
  const pair = derivedPair(ringKey);
  pairs.set(ringKey, pair);
  return pair;
}

function derivedPair(ringKey: Secret): SshKeyPair {
  const seed = Buffer.from(hkdfSync('sha256', ringKey.reveal(), '', 'lease-ssh-key', 32));
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const publicBytes = Buffer.from(x, 'base64url');
  const publicBlob = Buffer.concat([field(KEY_TYPE), field(publicBytes)]);
  return {
    publicKey: `${KEY_TYPE} ${publicBlob.toString('base64')} gpu-rental-operator`,
    privateKey: new Secret(openSshText(publicBlob, { seed, publicBytes })),
  };
}

/** Returns the file that ssh-keygen writes (PROTOCOL.key of OpenSSH), without a passphrase. */
function openSshText(
  publicBlob: Buffer,
  { seed, publicBytes }: { readonly seed: Buffer; readonly publicBytes: Buffer },
): string {
  // Two equal numbers show that a passphrase was right. They are derived from the seed, so that the same key has the
  // same text.
  const check = createHmac('sha256', seed).update('check').digest().subarray(0, 4);
  const secret = Buffer.concat([
    ...[check, check, field(KEY_TYPE), field(publicBytes)],
    ...[field(Buffer.concat([seed, publicBytes])), field('')],
  ]);
  const missing = (BLOCK_BYTES - (secret.length % BLOCK_BYTES)) % BLOCK_BYTES;
  const padding = Buffer.from(Array.from({ length: missing }, (_, at) => at + 1));
  const bytes = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...[field('none'), field('none'), field(''), uint32(1), field(publicBlob)],
    field(Buffer.concat([secret, padding])),
  ]);
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join(
    '\n',
  );
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Returns a string of the SSH protocol: its length, then its bytes. */
function field(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
}
