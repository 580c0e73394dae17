import { X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect as connectTls, createServer } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import {
  CLOCK_SKEW_MS,
  isPair,
  isSignedBy,
  issueAuthority,
  issueLeaf,
  type KeyPair,
  periodOf,
} from './certificates.ts';

const NOW = Math.floor(Date.now() / 1000) * 1000;
const DAY = 86_400_000;

const authority = (name = 'group', now = NOW): KeyPair => issueAuthority({ name, now, validMs: 10 * DAY });
const leaf = (
  ca: KeyPair,
  use: 'server' | 'client',
  names = ['worker.internal', 'group.internal'],
): KeyPair => issueLeaf({ names, use, now: NOW, validMs: DAY }, ca);

describe('a certificate', () => {
  test('is signed by its authority and by no other of the same name', () => {
    const ca = authority();
    const { certificate } = leaf(ca, 'server');
    expect(isSignedBy(certificate, ca.certificate)).toBe(true);
    expect(isSignedBy(certificate, authority().certificate)).toBe(false);
    expect(isSignedBy(ca.certificate, ca.certificate)).toBe(true);
  });

  test('counts from a few minutes before it was issued until its end', () => {
    const { certificate } = leaf(authority(), 'server');
    expect(periodOf(certificate)).toEqual({ from: NOW - CLOCK_SKEW_MS, until: NOW + DAY });
  });

  test('names IP addresses as addresses', () => {
    const { certificate } = leaf(authority(), 'server', ['127.0.0.1', '::1', 'localhost']);
    expect(new X509Certificate(certificate).subjectAltName).toBe(
      'IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:localhost',
    );
  });

  test('ends no later than its authority', () => {
    const ca = authority();
    const { certificate } = issueLeaf({ names: ['a'], use: 'client', now: NOW, validMs: 100 * DAY }, ca);
    expect(periodOf(certificate).until).toBe(periodOf(ca.certificate).until);
  });

  test('may end after 2050, when dates are written in another way', () => {
    const until = Date.UTC(2051, 5, 1);
    const ca = issueAuthority({ name: 'late', now: NOW, validMs: until - NOW });
    expect(periodOf(ca.certificate).until).toBe(until);
  });

  test('names whom it is for, what it is for, and that it is no authority', () => {
    const x509 = new X509Certificate(leaf(authority(), 'server').certificate);
    expect(x509.subjectAltName).toBe('DNS:worker.internal, DNS:group.internal');
    expect(x509.subject).toBe('CN=worker.internal');
    expect(x509.ca).toBe(false);
    // The key usage of TLS servers, by its number in RFC 5280.
    expect(x509.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(new X509Certificate(authority().certificate).ca).toBe(true);
  });

  test('has a key and a serial number of its own', () => {
    const ca = authority();
    const [one, other] = [leaf(ca, 'server'), leaf(ca, 'server')];
    expect(one.key.equals(other.key)).toBe(false);
    expect([isPair(one), isPair({ ...one, key: other.key })]).toEqual([true, false]);
    const serials = [one, other].map(({ certificate }) => new X509Certificate(certificate).serialNumber);
    expect(new Set(serials).size).toBe(2);
    expect(serials.every((serial) => /^[4-7][0-9A-F]{31}$/.test(serial))).toBe(true);
  });
});

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Resolves to the text that the caller reads, or to the code of its error. */
async function called(server: KeyPair, client: KeyPair | undefined, ca: KeyPair, name = 'worker.internal') {
  const listening = createServer(
    {
      ...{ key: server.key.reveal(), cert: server.certificate, ca: ca.certificate },
      ...{ requestCert: true, rejectUnauthorized: true },
    },
    (socket) => socket.end('served'),
  );
  listening.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  closing.push(() => listening.close());
  const { port } = listening.address() as AddressInfo;
  return new Promise<string>((resolve) => {
    const own = client && { key: client.key.reveal(), cert: client.certificate };
    const socket = connectTls({ port, host: '127.0.0.1', servername: name, ca: ca.certificate, ...own });
    socket.on('data', (data) => resolve(String(data)));
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve('closed'));
  });
}

describe('OpenSSL, as Node and most servers use it,', () => {
  test('takes both sides of one authority, by each name of the server', async () => {
    const ca = authority();
    for (const name of ['worker.internal', 'group.internal'])
      expect(await called(leaf(ca, 'server'), leaf(ca, 'client', ['gateway']), ca, name)).toBe('served');
  });

  test('refuses a server of another name or authority, or whose certificate is that of a client', async () => {
    const ca = authority();
    const client = leaf(ca, 'client');
    expect(await called(leaf(ca, 'server'), client, ca, 'other.internal')).toBe(
      'ERR_TLS_CERT_ALTNAME_INVALID',
    );
    expect(await called(leaf(authority(), 'server'), client, ca)).not.toBe('served');
    expect(await called(leaf(ca, 'client'), client, ca)).not.toBe('served');
  });

  test('refuses a caller without a certificate, with that of another authority, or with that of a server', async () => {
    const ca = authority();
    const server = leaf(ca, 'server');
    expect(await called(server, undefined, ca)).not.toBe('served');
    expect(await called(server, leaf(authority(), 'client'), ca)).not.toBe('served');
    expect(await called(server, leaf(ca, 'server'), ca)).not.toBe('served');
  });
});
