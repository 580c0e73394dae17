import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';

/** A certificate for one address or host name with its key, both PEM. */
export interface SelfSigned {
  readonly cert: string;
  readonly key: string;
}

interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Default: 127.0.0.1. */
  readonly ipv4?: string;
  /** In place of an address. */
  readonly hostName?: string;
}

/** Makes a self-signed certificate that is valid between two times; a test needs no tool and keeps no key. */
export function selfSigned({ notBefore, notAfter, ipv4 = '127.0.0.1', hostName }: Validity): SelfSigned {
  const pair = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const algorithm = sequence(oid('2a8648ce3d040302'));
  const name = sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from('test')))));
  const subject =
    hostName === undefined
      ? tagged(0x87, Buffer.from(ipv4.split('.').map(Number)))
      : tagged(0x82, Buffer.from(hostName));
  const altName = sequence(oid('551d11'), tagged(0x04, sequence(subject)));
  const isAuthority = sequence(oid('551d13'), tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff])))));
  const body = sequence(
    tagged(0xa0, integer(2)),
    integer(1),
    algorithm,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    pair.publicKey,
    tagged(0xa3, sequence(altName, isAuthority)),
  );
  const signature = sign('sha256', body, createPrivateKey(pair.privateKey));
  const whole = sequence(body, algorithm, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const text = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return { cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`, key: pair.privateKey };
}

function tagged(tag: number, content: Uint8Array): Buffer {
  const length = content.length;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Uint8Array[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function integer(value: number): Buffer {
  return tagged(0x02, Buffer.from([value]));
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'));
}

function time(date: Date): Buffer {
  return tagged(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
}
