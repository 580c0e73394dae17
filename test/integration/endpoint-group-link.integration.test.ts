import { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { API_VERSION, endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import { createWorkerTransport } from '../../src/main/worker-transport.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { until } from '../builders/until.ts';
import { workerTemplate } from './endpoint-group-bench.ts';
import { conditionOf, readyBench, useBenches } from './gpu-instance-bench.ts';

useBenches();

test('a worker with link TLS is ready by an HTTP probe, and reports its load by HTTPPull', async () => {
  const workerTransport = createWorkerTransport();
  onTestFinished(() => workerTransport.close());
  const asked = new Set<string>();
  const bench = await readyBench({
    workerTransport,
    simulator: {
      // The server of a machine that was given a certificate refuses all who show none of its group.
      machineServer: () => (request, response) => {
        request.resume();
        asked.add(`${request.url} ${request.socket instanceof TLSSocket ? 'by TLS' : 'in plain text'}`);
        response.end(request.url === '/load' ? '{"arrived": 5}' : 'well');
      },
    },
  });
  const machines = await bench.simulator.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => machines.close());
  const ref = { namespace: bench.namespace, name: 'llm' };
  await bench.kube.create(endpointGroupResource, {
    ...{ apiVersion: API_VERSION, kind: 'EndpointGroup', metadata: ref },
    spec: {
      gateway: { link: 'TLS' },
      ...{ minLoad: '50', coldWorkers: 0, expectedPerf: '100' },
      load: {
        type: 'HTTPPull',
        httpPull: {
          preset: 'Custom',
          port: 'http',
          path: '/load',
          format: 'JSON',
          figures: { newLoad: 'arrived' },
        },
      },
      template: workerTemplate({
        readinessProbe: { httpGet: { path: '/health', port: 'http' }, periodSeconds: 1, timeoutSeconds: 1 },
      }),
    },
  } as KubeObject);
  // A new worker has 90 s to report its first load, so that the condition is true before anything was asked.
  const group = await until('the group is ready and knows its load', async () => {
    const now = await bench.kube.get<EndpointGroup>(endpointGroupResource, ref);
    const isKnown = ['Ready', 'MetricsAvailable'].every(
      (type) => now && conditionOf(now, type)?.status === 'True',
    );
    return isKnown && asked.size === 2 && now?.status?.ready === 1 ? now : undefined;
  });
  expect(conditionOf(group, 'Ready')?.status).toBe('True');
  expect([...asked].toSorted()).toEqual(['/health by TLS', '/load by TLS']);
  expect(bench.logLines.join()).not.toContain('PRIVATE KEY');
}, 90_000);
