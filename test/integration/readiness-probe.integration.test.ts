import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { until } from '../builders/until.ts';
import { conditionOf, contracts, reached, useSharedBench } from './gpu-instance-bench.ts';

// Machines of other markets have ports from 20,000 on, and programs that ask for any port get one below 61,000.
const addresses = { portBase: 61_000 + (process.pid % 4_000), portCount: 500 };
const shared = useSharedBench({ simulator: { settings: { addresses } } });
const listening: Server[] = [];

afterEach(async () => {
  for (const server of listening.splice(0)) await closed(server);
});

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Serves on loopback, where the address map leads the operator for machines of the simulator. */
function listenAs({ status }: GpuInstance, server: Server): Promise<void> {
  const port = status?.ports?.find(({ containerPort }) => containerPort === 8080);
  if (!port) throw new Error('the machine has no public port');
  listening.push(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port.publicPort, '127.0.0.1', resolve);
  });
}

const ports = [{ name: 'http', containerPort: 8080 }];
const timing = { periodSeconds: 1, timeoutSeconds: 1, failureThreshold: 2 };

async function says(name: string, message: RegExp): Promise<GpuInstance> {
  return until(`${name} says ${message}`, async () => {
    const job = await shared().instance(name);
    return message.test(conditionOf(job, 'Ready')?.message ?? '') ? job : undefined;
  });
}

test('a machine whose HTTP probe fails is not ready, and is not replaced for it', async () => {
  const bench = shared();
  const asked: (string | undefined)[] = [];
  let answer = 503;
  const server = createHttpServer(({ url, headers }, response) => {
    asked.push(`${url} ${String(headers['x-probe'])}`);
    response.writeHead(answer).end();
  });
  await bench.createInstance('web', {
    ports,
    readinessProbe: {
      ...timing,
      httpGet: { port: 'http', path: '/ready', httpHeaders: [{ name: 'X-Probe', value: 'yes' }] },
    },
  });
  const silent = await says('web', /did not answer/);
  expect(conditionOf(silent, 'Running')).toMatchObject({ status: 'False', reason: 'NotReachable' });
  await listenAs(silent, server);
  await says('web', /answered 503/);
  answer = 200;
  const ready = await reached(bench, 'web', 'Ready');
  expect(conditionOf(ready, 'Running')).toMatchObject({ status: 'True', reason: 'Ready' });
  expect(asked).toContain('/ready yes');
  answer = 500;
  await says('web', /answered 500/);
  answer = 204;
  const again = await reached(bench, 'web', 'Ready');
  expect(again.status?.instanceId).toBe(ready.status?.instanceId);
  expect(contracts(bench)).toBe(1);
});

test('a TCP probe succeeds as soon as its port takes connections', async () => {
  const bench = shared();
  await bench.createInstance('socket', { ports, readinessProbe: { ...timing, tcpSocket: { port: 8080 } } });
  const refused = await says('socket', /connection was refused/);
  await listenAs(
    refused,
    createTcpServer((socket) => socket.destroy()),
  );
  const ready = await reached(bench, 'socket', 'Ready');
  expect(ready.status?.instanceId).toBe(refused.status?.instanceId);
});
