import { expect, test } from 'vitest';
import { PickedRequests } from './picked-requests.ts';

function picked(): PickedRequests {
  const requests = new PickedRequests();
  requests.add('ours-1', { requestId: 'envoy-1', at: 0 });
  requests.add('ours-2', { requestId: 'envoy-2', at: 0 });
  return requests;
}

test('finds the request by our id, once', () => {
  const requests = picked();
  expect(requests.take({ id: 'ours-1', requestId: 'envoy-1' })).toBe('ours-1');
  expect(requests.take({ id: 'ours-1', requestId: 'envoy-1' })).toBeUndefined();
  expect(requests.take({ id: 'ours-2', requestId: 'envoy-2' })).toBe('ours-2');
});

test('finds the request by the id of Envoy when its client left at the pick', () => {
  const requests = picked();
  expect(requests.take({ id: undefined, requestId: 'envoy-2' })).toBe('ours-2');
  expect(requests.take({ id: undefined, requestId: 'envoy-2' })).toBeUndefined();
});

test('finds the request of a client that sent our header itself and left at the pick', () => {
  expect(picked().take({ id: 'forged', requestId: 'envoy-1' })).toBe('ours-1');
});

test('knows no request that was never picked for, whatever header it has', () => {
  expect(picked().take({ id: 'forged', requestId: 'envoy-3' })).toBeUndefined();
});

test('keeps requests apart that share the id of Envoy', () => {
  const requests = picked();
  requests.add('ours-3', { requestId: 'envoy-1', at: 0 });
  expect(requests.take({ id: 'ours-1', requestId: 'envoy-1' })).toBe('ours-1');
  expect(requests.take({ id: undefined, requestId: 'envoy-1' })).toBe('ours-3');
});

test('forgets all of them with the Envoy that had them', () => {
  const requests = picked();
  requests.clear();
  expect(requests.take({ id: 'ours-1', requestId: 'envoy-1' })).toBeUndefined();
});
