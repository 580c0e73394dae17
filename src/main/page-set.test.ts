import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { parseConfig } from '../config.ts';
import { silentLogger } from '../lib/logger.ts';
import { createMetricRegistry } from '../server/metric-registry.ts';
import type { Operator } from './operator.ts';
import { servePageSet, watchProblem } from './page-set.ts';

const OFF = { healthProbeBindAddress: '0', metricsBindAddress: '0', workerReportBindAddress: '0' };
const operator = { caches: {} } as Operator;

test.each([
  ['healthProbeBindAddress', '--health-probe-bind-address'],
  ['metricsBindAddress', '--metrics-bind-address'],
  ['workerReportBindAddress', '--worker-report-bind-address'],
] as const)('names the flag of a port that is taken (%s)', async (option, flag) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const config = parseConfig({ ...OFF, [option]: address, marketplaceUrl: 'https://market.example' }, {});
  const clock = createVirtualClock();
  const serving = servePageSet({
    config,
    operator,
    registry: createMetricRegistry(),
    clock,
    log: silentLogger,
  });
  await expect(serving).rejects.toThrow(
    `${flag}: cannot listen on ${address} (EADDRINUSE); choose another address`,
  );
  await new Promise((resolve) => other.close(resolve));
});

test('reports of workers are taken until the pages are closed', async () => {
  const flags = { ...OFF, workerReportBindAddress: '127.0.0.1:0', marketplaceUrl: 'https://market.example' };
  const take = () => ({ status: 200, message: 'ok' });
  const pages = await servePageSet({
    config: parseConfig(flags, {}),
    operator: { ...operator, intake: { take } } as unknown as Operator,
    registry: createMetricRegistry(),
    clock: createVirtualClock(),
    log: silentLogger,
  });
  const report = () => fetch(`${pages.urls['workerReports']}/worker_status/`, { method: 'POST', body: '{}' });
  expect((await report()).status).toBe(200);
  await pages.close();
  await expect(report()).rejects.toThrow();
});

test('requests for renewals go to leases, and all other reports to groups', async () => {
  const flags = { ...OFF, workerReportBindAddress: '127.0.0.1:0', marketplaceUrl: 'https://market.example' };
  const intake = { take: (path: string) => ({ status: 401, message: path }) };
  const leaseReports = { take: () => ({ status: 200, message: 'ok', renew: 'proof-1:60' }) };
  const pages = await servePageSet({
    config: parseConfig(flags, {}),
    operator: { ...operator, intake, leaseReports } as unknown as Operator,
    registry: createMetricRegistry(),
    clock: createVirtualClock(),
    log: silentLogger,
  });
  const reported = async (path: string) =>
    (await fetch(pages.urls['workerReports'] + path, { method: 'POST', body: '{}' })).json();
  expect(await reported('/lease/')).toEqual({ success: true, renew: 'proof-1:60' });
  expect(await reported('/worker_status/')).toEqual({ success: false, error: '/worker_status/' });
  await pages.close();
});

describe('reports of pickers', () => {
  async function reported(flags: Record<string, string>): Promise<number> {
    const taken: unknown[] = [];
    const gatewayIntake = {
      take: (body: unknown) => {
        taken.push(body);
        return { status: 200, reply: { pickers: 1, groups: [] } };
      },
    };
    const pages = await servePageSet({
      config: parseConfig({ ...OFF, metricsBindAddress: '127.0.0.1:0', ...flags }, {}),
      operator: { ...operator, gatewayIntake, kube: {} } as unknown as Operator,
      registry: createMetricRegistry(),
      clock: createVirtualClock(),
      log: silentLogger,
    });
    const url = pages.urls['metricsBindAddress'] ?? pages.urls['healthProbeBindAddress'];
    const reply = await fetch(`${url}/gateway/reports`, { method: 'POST', body: '{}' });
    await pages.close();
    expect(taken).toHaveLength(reply.status === 200 ? 1 : 0);
    return reply.status;
  }

  test.each<[string, Record<string, string>, number]>([
    ['are not taken by default', {}, 405],
    ['are taken from everyone who may come without a token', { gatewayReports: 'unauthenticated' }, 200],
    ['are refused without a token where Kubernetes decides', { gatewayReports: 'kubernetes' }, 401],
  ])('%s', async (_, flags, status) => {
    expect(await reported(flags)).toBe(status);
  });

  test('are taken beside the pages of health at one address', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Promise((resolve) => server.close(resolve));
    const both = { metricsBindAddress: at, healthProbeBindAddress: at, gatewayReports: 'unauthenticated' };
    expect(await reported(both)).toBe(200);
  });
});

describe('replies to probes of the kubelet', () => {
  const AT = Date.parse('2026-11-20T12:00:00Z');
  const well = { lastContactAt: AT, failure: undefined, rewoundSince: undefined, divergences: 0 };

  /** Returns the status and body of a page of such a process. */
  async function answer(
    path: string,
    { isReady = true, isLeading = true, isLost = false, health = well } = {},
  ): Promise<readonly [number, string]> {
    const why = { reason: 'IdentityInvalid', message: 'The identity is missing.' };
    const process = {
      caches: { accounts: { health: () => health } },
      manager: { isReady: () => isReady, isLeading: () => isLeading },
      installation: { state: () => (isLost ? { type: 'lost', why } : { type: 'known' }) },
    } as unknown as Operator;
    const flags = { ...OFF, healthProbeBindAddress: '127.0.0.1:0', marketplaceUrl: 'https://market.example' };
    const pages = await servePageSet({
      config: parseConfig(flags, {}),
      operator: process,
      registry: createMetricRegistry(),
      clock: createVirtualClock({ startMs: AT }),
      log: silentLogger,
    });
    const url = pages.urls['healthProbeBindAddress'];
    const reply = await fetch(`${url}${path}`);
    const answered = [reply.status, await reply.text()] as const;
    await pages.close();
    await expect(fetch(`${url}${path}`)).rejects.toThrow();
    return answered;
  }

  test.each([
    ['is ready with complete lists', '/readyz', {}, 200, 'ok'],
    ['is not ready before its lists are complete', '/readyz', { isReady: false }, 503, 'first lists'],
    ['is not ready where it leads and lost its identity', '/readyz', { isLost: true }, 503, 'missing'],
    ['is ready where another leads', '/readyz', { isLost: true, isLeading: false }, 200, 'ok'],
    ['lives while it hears of the API server', '/healthz', {}, 200, 'ok'],
    [
      'does not where only a restart would help',
      '/healthz',
      { health: { ...well, lastContactAt: AT - 3_600_000 } },
      503,
      'silent for 3600 s',
    ],
  ])('a process %s', async (_, path, state, status, text) => {
    const [answered, said] = await answer(path, state);
    expect([answered, said]).toEqual([status, expect.stringContaining(text)]);
  });
});

const NOW = 10_000_000;
const WELL = { lastContactAt: NOW, failure: undefined, rewoundSince: undefined };

test.each([
  ['all is well', {}, undefined],
  ['nothing was heard yet', { lastContactAt: undefined }, undefined],
  ['bookmarks are late', { lastContactAt: NOW - 599_000 }, undefined],
  ['the watch is dead', { lastContactAt: NOW - 600_000 }, /silent for 600 s/],
  ['the API server is away', { lastContactAt: NOW - 600_000, failure: 'network' }, undefined],
  ['a replica lags', { failure: 'StaleListError', rewoundSince: NOW - 119_000 }, undefined],
  ['etcd was restored', { failure: 'StaleListError', rewoundSince: NOW - 120_000 }, /restored from a backup/],
] as const)('a restart repairs what it can: %s', (_, health, problem) => {
  const found = watchProblem({ ...WELL, ...health }, NOW);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});
