import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { parseConfig } from '../config.ts';
import { createMetricRegistry } from '../server/metric-registry.ts';
import type { Operator } from './operator.ts';
import { servePageSet } from './page-set.ts';

const OFF = { healthProbeBindAddress: '0', metricsBindAddress: '0', workerReportBindAddress: '0' };
const operator = { caches: {} } as Operator;

test.each([
  ['healthProbeBindAddress', '--health-probe-bind-address'],
  ['metricsBindAddress', '--metrics-bind-address'],
  ['workerReportBindAddress', '--worker-report-bind-address'],
] as const)('a port that is taken is told by its flag (%s)', async (option, flag) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const config = parseConfig({ ...OFF, [option]: address, marketplaceUrl: 'https://market.example' }, {});
  const clock = createVirtualClock();
  const serving = servePageSet({ config, operator, registry: createMetricRegistry(), clock });
  await expect(serving).rejects.toThrow(
    `${flag}: cannot listen on ${address} (EADDRINUSE); choose another address`,
  );
  await new Promise((resolve) => other.close(resolve));
});
