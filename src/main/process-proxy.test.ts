import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { startConnectProxy } from '../../test/builders/connect-proxy.ts';
import { selfSigned } from '../../test/builders/self-signed.ts';
import { environmentProxy } from '../lib/egress-proxy.ts';
import { type Transport, TransportError } from '../lib/transport.ts';
import { createMarketplaceTransport } from '../markets/vast/http/transport.ts';
import { createTransport } from '../runtime/kube/undici-transport.ts';

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const certificate = selfSigned({
  notBefore: new Date(Date.now() - 60_000),
  notAfter: new Date(Date.now() + 3_600_000),
  hostName: 'market.invalid',
});
const ORIGIN = 'https://market.invalid';

async function serveTls(): Promise<number> {
  const server = createServer(certificate, (request, response) => response.end(`served ${request.url}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

async function proxyTo(answer?: 'connect' | 407 | 'silent') {
  const proxy = await startConnectProxy(await serveTls(), answer);
  open.push(() => proxy.close());
  return proxy;
}

type Environment = Record<string, string>;

/** The two transports of a program, behind the proxy of an environment. */
const transports: readonly [string, (environment: Environment, ca?: string) => Transport][] = [
  [
    'to marketplaces',
    (environment, ca) => {
      const options = { proxy: environmentProxy(environment), connectTimeoutMs: 200, ...(ca && { ca }) };
      const transport = createMarketplaceTransport(options);
      open.push(() => transport.close());
      return transport;
    },
  ],
  [
    'to API servers',
    (environment, ca) => {
      const transport = createTransport({ proxy: environmentProxy(environment), connectTimeoutMs: 200, ca });
      open.push(() => transport.close());
      return transport;
    },
  ],
];

async function get(transport: Transport, origin = ORIGIN): Promise<string> {
  const { body } = await transport({ method: 'GET', origin, path: '/path', headers: {} });
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe.each(transports)('a transport %s', (_, transportOf) => {
  test('reaches a server through the proxy of HTTPS_PROXY, which gets the login', async () => {
    const proxy = await proxyTo();
    const url = proxy.url.replace('http://', 'http://user:pass%40word@');
    const transport = transportOf({ HTTPS_PROXY: url }, certificate.cert);
    expect(await get(transport)).toBe('served /path');
    expect(proxy.targets).toEqual(['market.invalid:443']);
    expect(proxy.logins).toEqual([`Basic ${Buffer.from('user:pass@word').toString('base64')}`]);
  });

  test('verifies the certificate of the server behind the proxy', async () => {
    const proxy = await proxyTo();
    const failure = await get(transportOf({ https_proxy: proxy.url })).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TransportError);
    expect(failure).toMatchObject({ sent: false });
    expect(proxy.targets).toHaveLength(1);
  });

  test.for([
    [407, 'that wants a login'],
    ['silent', 'that does not answer'],
  ] as const)('fails with nothing sent at a proxy: %s', async ([answer]) => {
    const proxy = await proxyTo(answer);
    const failure = await get(transportOf({ HTTPS_PROXY: proxy.url }, certificate.cert)).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(TransportError);
    expect(failure).toMatchObject({ sent: false });
    expect(proxy.targets).toHaveLength(1);
  });

  test.for([
    ['a name', 'market.invalid'],
    ['a domain', '.invalid'],
  ] as const)('goes directly to %s of NO_PROXY', async ([, except]) => {
    const proxy = await proxyTo();
    const transport = transportOf({ HTTPS_PROXY: proxy.url, NO_PROXY: except }, certificate.cert);
    await expect(get(transport)).rejects.toThrow(TransportError);
    expect(proxy.targets).toEqual([]);
  });

  test('goes directly to loopback', async () => {
    const proxy = await proxyTo();
    const port = await serveTls();
    const transport = transportOf({ HTTPS_PROXY: proxy.url }, certificate.cert);
    await expect(get(transport, `https://127.0.0.1:${port}`)).rejects.toThrow(TransportError);
    expect(proxy.targets).toEqual([]);
  });
});
