import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type SelfSigned, selfSigned } from '../../test/builders/self-signed.ts';
import { until } from '../../test/builders/until.ts';
import { parseConfig, type RawOptions } from '../config.ts';
import type { Transport } from '../lib/transport.ts';
import type { TlsOptions } from '../runtime/kube/undici-transport.ts';
import { type Doors, openDoors } from './doors.ts';

const DAY = 86_400_000;
const certificate = () =>
  selfSigned({ notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + DAY) });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Where a server listens that shows this certificate. */
async function serve({ cert, key }: SelfSigned, answer: RequestListener): Promise<string> {
  const server = createServer({ cert, key }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The same, which notes what it is asked. */
async function serverWith(shown: SelfSigned) {
  const asked: string[] = [];
  const origin = await serve(shown, ({ headers }, response) => {
    asked.push(headers.authorization ?? '');
    response.end('{}');
  });
  return { origin, asked };
}

async function doorsUnder(flags: RawOptions, tls: TlsOptions = {}): Promise<Doors> {
  const doors = await openDoors(parseConfig(flags, {}), { tls });
  closing.push(() => Promise.all(Object.values(doors).map((door) => door.close())));
  return doors;
}

/** The status of the reply to a request that shows a key, or why there is none in so many milliseconds. */
async function answerOf(door: Transport, origin: string, patienceMs = 15_000): Promise<number | string> {
  const headers = { authorization: 'Bearer key' };
  const signal = AbortSignal.timeout(patienceMs);
  try {
    const { status, destroy } = await door({ method: 'GET', origin, path: '/', headers, signal });
    destroy();
    return status;
  } catch (error) {
    return `${error}: ${error instanceof Error ? error.cause : ''}`;
  }
}

describe('an API server', () => {
  test('with another authority’s certificate is not asked', async () => {
    const { origin, asked } = await serverWith(certificate());
    const { kube } = await doorsUnder({}, { ca: certificate().cert });
    expect(await answerOf(kube, origin)).toMatch(/^TransportError/);
    expect(asked).toEqual([]);
  });

  test('with a certificate of no authority is not asked where the kubeconfig names none', async () => {
    const { origin, asked } = await serverWith(certificate());
    expect(await answerOf((await doorsUnder({})).kube, origin)).toMatch(/^TransportError/);
    expect(asked).toEqual([]);
  });

  test('with a certificate of the authority that is named is asked', async () => {
    const shown = certificate();
    const { origin, asked } = await serverWith(shown);
    expect(await answerOf((await doorsUnder({}, { ca: shown.cert })).kube, origin)).toBe(200);
    expect(asked).toEqual(['Bearer key']);
  });
});

test('the lease is renewed while requests that hang hold every other connection to the API server', async () => {
  const shown = certificate();
  let hanging = 0;
  const origin = await serve(shown, ({ url }, response) => {
    if (url === '/hangs') hanging += 1;
    else response.end('{}');
  });
  const { kube, lease } = await doorsUnder({ kubeConnections: '16' }, { ca: shown.cert });
  const request = { method: 'PATCH', origin, path: '/hangs', headers: {} };
  for (let writer = 0; writer < 44; writer++) kube(request).catch(() => {});
  await until('all connections hang', () => hanging === 16);
  expect(await answerOf(kube, origin, 500)).toContain('TimeoutError');
  expect(await answerOf(lease, origin)).toBe(200);
});

test('who listens to the lease can ask for it all the same', async () => {
  const shown = certificate();
  const listening = Promise.withResolvers<void>();
  const origin = await serve(shown, ({ url }, response) => {
    if (url === '/watch') listening.resolve();
    else response.end('{}');
  });
  const { lease } = await doorsUnder({}, { ca: shown.cert });
  lease({ method: 'GET', origin, path: '/watch', headers: {} }).catch(() => {});
  await listening.promise;
  expect(await answerOf(lease, origin)).toBe(200);
});

test('a marketplace with a certificate of no authority is not asked', async () => {
  const { origin, asked } = await serverWith(certificate());
  expect(await answerOf((await doorsUnder({})).marketplace, origin)).toMatch(/Error/);
  expect(asked).toEqual([]);
});

test('a worker may show any certificate: nobody could verify one of a rented machine', async () => {
  const { origin } = await serverWith(certificate());
  expect(await answerOf((await doorsUnder({})).workers, origin)).toBe(200);
});

describe('a marketplace on a private address', () => {
  const origin = 'https://10.255.255.1';

  test('is not connected to', async () => {
    expect(await answerOf((await doorsUnder({})).marketplace, origin)).toContain('not public');
  });

  test('is, where --allow-private-addresses says so', async () => {
    const { marketplace } = await doorsUnder({ allowPrivateAddresses: true });
    expect(await answerOf(marketplace, origin, 500)).not.toContain('not public');
  });
});
