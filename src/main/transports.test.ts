import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { startConnectProxy } from '../../test/builders/connect-proxy.ts';
import { groupObject } from '../../test/builders/group-worker.ts';
import { type SelfSigned, selfSigned } from '../../test/builders/self-signed.ts';
import { until } from '../../test/builders/until.ts';
import { parseConfig, type RawOptions } from '../config.ts';
import { LoadSources } from '../controllers/endpoint-group/load/sources.ts';
import { LoadStore } from '../controllers/endpoint-group/load/state.ts';
import { defaultTimes } from '../controllers/endpoint-group/times.ts';
import { systemClock } from '../lib/clock.ts';
import type { Transport } from '../lib/transport.ts';
import type { TlsOptions } from '../runtime/kube/undici-transport.ts';
import {
  kubeConnectionLimit,
  openPrometheusTransport,
  openTransports,
  type Transports,
} from './transports.ts';

const DAY = 86_400_000;
/** Returns a certificate that is valid between these days from now. */
const certificate = (from = -1, to = 1) =>
  selfSigned({ notBefore: new Date(Date.now() + from * DAY), notAfter: new Date(Date.now() + to * DAY) });

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Starts a server with this certificate; returns its URL. */
async function serve({ cert, key }: SelfSigned, answer: RequestListener): Promise<string> {
  const server = createServer({ cert, key }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns a server with this certificate that records its requests. */
async function serverWith(shown: SelfSigned) {
  const asked: string[] = [];
  const origin = await serve(shown, ({ headers }, response) => {
    asked.push(headers.authorization ?? '');
    response.end('{}');
  });
  return { origin, asked };
}

async function transportsUnder(flags: RawOptions, tls: TlsOptions = {}): Promise<Transports> {
  const transports = await openTransports(parseConfig(flags, {}), { tls });
  closing.push(() => Promise.all(Object.values(transports).map((transport) => transport.close())));
  return transports;
}

/** Returns the status of the reply to a request with a key, or the reason why none came within these milliseconds. */
async function answerOf(transport: Transport, origin: string, patienceMs = 15_000): Promise<number | string> {
  const headers = { authorization: 'Bearer key' };
  const signal = AbortSignal.timeout(patienceMs);
  try {
    const { status, destroy } = await transport({ method: 'GET', origin, path: '/', headers, signal });
    destroy();
    return status;
  } catch (error) {
    return `${error}: ${error instanceof Error ? error.cause : ''}`;
  }
}

describe('an API server', () => {
  test('with another authority’s certificate is not asked', async () => {
    const { origin, asked } = await serverWith(certificate());
    const { kube } = await transportsUnder({}, { ca: certificate().cert });
    expect(await answerOf(kube, origin)).toMatch(/^TransportError/);
    expect(asked).toEqual([]);
  });

  test('with a certificate of no authority is not asked where the kubeconfig names none', async () => {
    const { origin, asked } = await serverWith(certificate());
    expect(await answerOf((await transportsUnder({})).kube, origin)).toMatch(/^TransportError/);
    expect(asked).toEqual([]);
  });

  test('with a certificate of the authority that is named is asked', async () => {
    const shown = certificate();
    const { origin, asked } = await serverWith(shown);
    expect(await answerOf((await transportsUnder({}, { ca: shown.cert })).kube, origin)).toBe(200);
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
  const { kube, lease } = await transportsUnder({ kubeConnections: '16' }, { ca: shown.cert });
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
  const { lease } = await transportsUnder({}, { ca: shown.cert });
  lease({ method: 'GET', origin, path: '/watch', headers: {} }).catch(() => {});
  await listening.promise;
  expect(await answerOf(lease, origin)).toBe(200);
});

test('a marketplace with a certificate of no authority is not asked', async () => {
  const { origin, asked } = await serverWith(certificate());
  expect(await answerOf((await transportsUnder({})).marketplace, origin)).toMatch(/Error/);
  expect(asked).toEqual([]);
});

test('accepts any certificate of a worker: none of a rented machine can be verified', async () => {
  const { origin } = await serverWith(certificate());
  expect(await answerOf((await transportsUnder({})).workers, origin)).toBe(200);
});

describe('a marketplace on a private address', () => {
  const origin = 'https://10.255.255.1';

  test('is not connected to', async () => {
    expect(await answerOf((await transportsUnder({})).marketplace, origin)).toContain('not public');
  });

  test('is, where --allow-private-addresses says so', async () => {
    const { marketplace } = await transportsUnder({ allowPrivateAddresses: true });
    expect(await answerOf(marketplace, origin, 500)).not.toContain('not public');
  });
});

const namespaces = (count: number) => Array.from({ length: count }, (_, index) => `team-${index}`);

test.each([
  ['what is configured', 24, 0, 24],
  ['what is configured, where it leaves enough', 64, 8, 64],
  ['enough for the lease and for writes beside the watches of eight namespaces', 24, 8, 40],
  ['enough beside those of a hundred', 1, 100, 316],
] as const)('there are %s', (_, kubeConnections, count, expected) => {
  expect(kubeConnectionLimit({ kubeConnections, watchNamespace: namespaces(count) })).toBe(expected);
});

/** Returns a Prometheus that answers every query with 300. */
async function prometheusWith({ cert, key }: SelfSigned) {
  const asked: (string | undefined)[] = [];
  const server = createServer({ cert, key }, ({ url }, response) => {
    asked.push(url);
    const result = [{ value: [Date.now() / 1000, '300'] }];
    response.end(JSON.stringify({ data: { resultType: 'vector', result } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-ca-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'ca.pem');
  writeFileSync(path, text);
  return path;
}

/** Returns the load condition of a group after Prometheus has answered or was refused. */
async function loadFrom(url: string, prometheusCa: string | undefined) {
  const transport = await openPrometheusTransport({ prometheusCa });
  closing.push(() => transport.close());
  const loadStore = new LoadStore();
  const late = Promise.withResolvers<void>();
  const readers = new LoadSources({
    ...{ clock: systemClock, loadStore, times: defaultTimes },
    prometheus: { tenancy: { type: 'unrestricted' }, url, transport },
    transport: () => Promise.reject(new Error('Prometheus is not asked by the transport of workers')),
    addresses: { allowPrivate: false, mapAddress: (address) => address },
    tokenOf: () => undefined,
    takesReports: false,
    takesGatewayReports: false,
  });
  const group = groupObject({ load: { type: 'Prometheus', prometheus: { loadQuery: 'load' } } });
  await readers.read(group, { workers: [], onLate: () => late.resolve() });
  const { reporters, problems } = loadStore.get('uid-llm');
  if (reporters.size + problems.size === 0) await late.promise;
  const told = loadStore.get('uid-llm');
  return { record: [...told.reporters.values()][0]?.record, problem: [...told.problems.values()][0]?.detail };
}

describe('an https Prometheus', () => {
  test('that signed its own certificate is not asked, and the message names the flag', async () => {
    const { port, asked } = await prometheusWith(certificate(-1, 1));
    const { record, problem } = await loadFrom(`https://127.0.0.1:${port}`, undefined);
    expect(problem).toBe(
      'Prometheus: no trusted authority signed the certificate; pass the PEM of its authority with --prometheus-ca',
    );
    expect({ record, asked }).toEqual({ record: undefined, asked: [] });
  });

  test('is asked where --prometheus-ca names the authority of its certificate', async () => {
    const made = certificate(-1, 1);
    const { port, asked } = await prometheusWith(made);
    const { record, problem } = await loadFrom(`https://127.0.0.1:${port}`, fileOf(made.cert));
    expect(problem).toBeUndefined();
    expect(record).toMatchObject({ arrived: { type: 'rate', load: 300 } });
    expect(asked).toEqual(['/api/v1/query?query=load']);
  });

  test.each<[string, string, SelfSigned, string]>([
    ['of another authority', '127.0.0.1', certificate(-1, 1), '--prometheus-ca'],
    ['that has expired', '127.0.0.1', certificate(-9, -1), 'has expired; renew it'],
    ['that is not valid yet', '127.0.0.1', certificate(1, 9), 'check the clocks'],
    ['of another name', 'localhost', certificate(-1, 1), 'is for another name'],
  ])('with a certificate %s is not asked although an authority is named', async (what, host, made, says) => {
    const { port, asked } = await prometheusWith(made);
    const trusted = what === 'of another authority' ? certificate(-1, 1) : made;
    const { problem } = await loadFrom(`https://${host}:${port}`, fileOf(trusted.cert));
    expect(problem).toContain(says);
    expect(asked).toEqual([]);
  });
});

describe('--prometheus-ca', () => {
  const damaged = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';

  test.each<[string, () => string, string]>([
    ['is not there', () => '/nowhere/ca.pem', '/nowhere/ca.pem cannot be read (ENOENT)'],
    ['is a folder', () => tmpdir(), 'cannot be read (EISDIR)'],
    ['holds no certificate', () => fileOf('hello'), 'holds no certificate: name a file in PEM'],
    ['is empty', () => fileOf(''), 'holds no certificate'],
    ['is damaged', () => fileOf(damaged), 'its certificate 1 cannot be parsed'],
    [
      'is damaged at its second certificate',
      () => fileOf(certificate(-1, 1).cert + damaged),
      'its certificate 2 cannot be parsed',
    ],
  ])('that %s is refused at the start, by name', async (_, path, says) => {
    const opening = openPrometheusTransport({ prometheusCa: path() });
    await expect(opening).rejects.toThrow(/^--prometheus-ca: /);
    await expect(opening).rejects.toThrow(says);
  });
});

describe('behind a proxy of the environment', () => {
  const { cert } = certificate();
  const dialled = ['lease', 'kube', 'marketplace', 'prometheus', 'workers'] as const;

  test('marketplaces and Prometheus are reached through it, machines and the API server of a pod directly', async () => {
    const proxy = await startConnectProxy(1);
    closing.push(() => proxy.close());
    const config = parseConfig({}, {});
    const transports = await openTransports(config, { tls: { ca: cert } }, { HTTPS_PROXY: proxy.url });
    closing.push(() => Promise.all(Object.values(transports).map((transport) => transport.close())));
    for (const name of dialled) {
      const outcome = await answerOf(transports[name], `https://${name}.invalid`);
      expect(outcome).not.toBe(200);
    }
    expect(proxy.targets).toEqual(['marketplace.invalid:443', 'prometheus.invalid:443']);
  });

  test('an address that is none is refused at the start, by name', async () => {
    const opening = openTransports(parseConfig({}, {}), { tls: {} }, { HTTPS_PROXY: 'ftp://proxy' });
    await expect(opening).rejects.toThrow('HTTPS_PROXY is no address of a proxy');
  });
});
