import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { until } from '../test/builders/until.ts';
import { parseConfig, type RawOptions } from './config.ts';
import { runOperator } from './main.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const LISTED = {
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: '1', annotations: { 'k8s.io/initial-events-end': 'true' } } },
};

interface Lease {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly holderIdentity: string; readonly leaseDurationSeconds?: number };
}

/** An API server of an empty cluster that keeps the one lease, and the sockets by which it is asked for that. */
async function emptyCluster() {
  let lease: Lease | undefined;
  let version = 1;
  const ports = { lease: new Set<number>(), other: new Set<number>() };
  const store = (sent: Lease): Lease => {
    lease = { ...sent, metadata: { ...sent.metadata, resourceVersion: String(++version) } };
    return lease;
  };
  const isOld = (sent: Lease) => lease && sent.metadata.resourceVersion !== lease.metadata.resourceVersion;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '';
    const isLease = path.includes('/leases');
    ports[isLease ? 'lease' : 'other'].add(request.socket.remotePort ?? 0);
    const sent = Buffer.concat(await request.toArray()).toString();
    const body = sent === '' ? {} : JSON.parse(sent);
    const reply = (status: number, value: object) => response.writeHead(status).end(JSON.stringify(value));
    if (path.includes('watch=true')) {
      response.writeHead(isLease ? 403 : 200);
      return isLease ? response.end('{}') : response.write(`${JSON.stringify(LISTED)}\n`);
    }
    if (isLease && request.method === 'PUT' && isOld(body))
      return reply(409, { reason: 'Conflict', code: 409 });
    if (request.method !== 'GET') return reply(200, isLease ? store(body) : body);
    return isLease && lease ? reply(200, lease) : reply(404, { reason: 'NotFound', code: 404 });
  };
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  closing.push(() => rm(folder, { recursive: true }));
  const kubeconfig = join(folder, 'config');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const named = { clusters: [{ name: 'c', cluster: { server: origin } }], users: [{ name: 'u', user: {} }] };
  const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
  await writeFile(kubeconfig, JSON.stringify({ ...named, contexts, 'current-context': 'c' }));
  return {
    kubeconfig,
    ports,
    connections: () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count))),
    holder: () => lease?.spec.holderIdentity,
    giveTo: (holderIdentity: string) =>
      lease && store({ ...lease, spec: { ...lease.spec, holderIdentity, leaseDurationSeconds: 3_600 } }),
  };
}

/** Runs the operator of this process until it ends. */
async function running(flags: RawOptions = {}, environment: Readonly<Record<string, string>> = {}) {
  const cluster = await emptyCluster();
  const stop = new AbortController();
  const lines: string[] = [];
  const config = parseConfig(
    {
      kubeconfig: cluster.kubeconfig,
      leaderElectRetryPeriod: '100ms',
      healthProbeBindAddress: '127.0.0.1:0',
      metricsBindAddress: '0',
      ...flags,
    },
    {},
  );
  const logDestination = { write: (line: string) => void lines.push(line) };
  const exitCode = runOperator(config, { environment, signal: stop.signal, logDestination });
  closing.push(() => {
    stop.abort();
    return exitCode;
  });
  const started = await until('it has started', () =>
    lines.find((line) => line.includes('operator started')),
  );
  const health = `${JSON.parse(started).healthProbeBindAddress}/healthz`;
  return { ...cluster, exitCode, stop: () => stop.abort(), health };
}

test('a process that is told to end ends well, gives the lease back and shows no page any more', async () => {
  const { exitCode, stop, holder, health } = await running();
  await until('it leads', () => holder());
  expect((await fetch(health)).status).toBe(200);
  stop();
  expect(await exitCode).toBe(0);
  expect(holder()).toBe('');
  await expect(fetch(health)).rejects.toThrow();
});

test('a process whose lease somebody else has got ends as one that is to be started again', async () => {
  const { exitCode, holder, giveTo } = await running();
  await until('it leads', () => holder());
  giveTo('another');
  expect(await exitCode).toBe(1);
});

/** The name that a process drew is at its end. */
const withoutDrawn = (name: string) => name.replace(/_[0-9a-f]{8}$/, '_drawn');

test('a process has a name of its own in the lease, after its Pod where it knows that, and asks for it by its own connections', async () => {
  const { holder, ports } = await running({}, { POD_UID: 'pod-uid' });
  const name = await until('it leads', () => holder());
  expect(withoutDrawn(name)).toBe(`${hostname()}_pod-uid_drawn`);
  expect([...ports.lease].filter((port) => ports.other.has(port))).toEqual([]);
  const outside = await running();
  expect(withoutDrawn(await until('it leads', () => outside.holder()))).toBe(`${hostname()}_drawn`);
});

test('a process leads at once where the lease is still that of the one before it in its Pod', async () => {
  const pod = { POD_UID: 'pod-uid' };
  const { exitCode, giveTo, holder, kubeconfig, stop } = await running({}, pod);
  await until('it leads', () => holder());
  stop();
  await exitCode;
  giveTo(`${hostname()}_pod-uid_00000000`);
  await running({ kubeconfig }, pod);
  await until('the next one leads', () => !holder()?.endsWith('_00000000'));
});

test('a process that is told to end before it begins does nothing', async () => {
  const { kubeconfig, holder } = await emptyCluster();
  const config = parseConfig({ kubeconfig, healthProbeBindAddress: '0', metricsBindAddress: '0' }, {});
  const signal = AbortSignal.abort();
  expect(await runOperator(config, { environment: {}, signal, logDestination: { write() {} } })).toBe(0);
  expect(holder()).toBeUndefined();
});

test('a process that has ended holds no connection', async () => {
  const { exitCode, stop, holder, connections } = await running();
  await until('it leads', () => holder());
  expect(await connections()).toBeGreaterThan(0);
  stop();
  await exitCode;
  await until('nothing is connected', async () => (await connections()) === 0, 10_000);
});
