import { expect, test } from 'vitest';
import { createGatewayMetrics, showGatewayGroups, showOperatorOutage } from './gateway-metrics.ts';
import { createMetricRegistry } from './metric-registry.ts';

const LLM = { namespace: 'default', name: 'llm' };

test('counts requests by caller and status, and their work by unit', async () => {
  const registry = createMetricRegistry();
  const metrics = createGatewayMetrics(registry);
  const request = { caller: 'alice', unit: 'Header', firstByteMs: 200 } as const;
  metrics.served(LLM, { ...request, status: 200, work: 40, retries: 1 });
  metrics.served(LLM, { ...request, status: 200, work: 2, retries: 0 });
  metrics.served(LLM, { ...request, status: 0, work: 0, retries: 0, firstByteMs: undefined });
  const text = await registry.expose();
  const group = 'namespace="default",name="llm"';
  expect(text).toContain(`gpu_rental_gateway_requests_total{${group},caller="alice",code="200"} 2`);
  expect(text).toContain(`gpu_rental_gateway_requests_total{${group},caller="alice",code="0"} 1`);
  expect(text).toContain(`gpu_rental_gateway_work_total{${group},caller="alice",unit="header"} 42`);
  expect(text).toContain(`gpu_rental_gateway_retries_total{${group}} 1`);
  expect(text).toContain(`gpu_rental_gateway_first_byte_seconds_count{${group}} 2`);
});

test('counts picks with their wait, refusals, wakes, and clients that left', async () => {
  const registry = createMetricRegistry();
  const metrics = createGatewayMetrics(registry);
  metrics.picked(LLM, 1_500);
  metrics.refused(LLM, 'queue_full');
  metrics.left(LLM);
  metrics.woke(LLM);
  const text = await registry.expose();
  const group = 'namespace="default",name="llm"';
  expect(text).toContain(`gpu_rental_gateway_picks_total{${group}} 1`);
  expect(text).toContain(`gpu_rental_gateway_wait_seconds_sum{${group}} 1.5`);
  expect(text).toContain(`gpu_rental_gateway_refusals_total{${group},code="queue_full"} 1`);
  expect(text).toContain(`gpu_rental_gateway_left_total{${group}} 1`);
  expect(text).toContain(`gpu_rental_gateway_wakes_total{${group}} 1`);
});

test('P3: shows how long the operator has been away', async () => {
  const registry = createMetricRegistry();
  let seconds = 0;
  showOperatorOutage(registry, () => seconds);
  expect(await registry.expose()).toContain('gpu_rental_gateway_operator_unreachable_seconds 0');
  seconds = 73;
  expect(await registry.expose()).toContain('gpu_rental_gateway_operator_unreachable_seconds 73');
});

test('shows the groups that there are, and none that is gone', async () => {
  const registry = createMetricRegistry();
  let groups = [{ ...LLM, heldRequests: 3, inFlightRequests: 2, readyWorkers: 1 }];
  showGatewayGroups(registry, () => groups);
  expect(await registry.expose()).toContain(
    'gpu_rental_gateway_held_requests{namespace="default",name="llm"} 3',
  );
  groups = [];
  expect(await registry.expose()).not.toContain('gpu_rental_gateway_held_requests{');
});
