import { expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { groupService, isGroupService, samePorts, workerSlice } from './service.ts';

const ours = { [labels.managedBy]: OPERATOR_NAME, [labels.endpointName]: 'llm' };

test.each<[string, Record<string, string> | undefined, boolean]>([
  ['with both labels is a group’s', ours, true],
  ['of another manager is not, whatever name it claims', { ...ours, [labels.managedBy]: 'helm' }, false],
  ['made for another name is not', { ...ours, [labels.endpointName]: 'other' }, false],
  ['without labels is not', undefined, false],
])('a Service %s', (_, given, isOurs) => {
  const metadata = { name: 'llm', namespace: 'team', ...(given && { labels: given }) };
  expect(isGroupService({ apiVersion: 'v1', kind: 'Service', metadata })).toBe(isOurs);
});

test('Service and slice are of the versions that the API server takes', () => {
  const ports = [{ name: 'http', port: 20_007, protocol: 'TCP' as const }];
  const place = { address: '203.0.113.7', addressType: 'IPv4' as const, ports };
  const endpoint = { worker: workerObject('w'), isDraining: false, pricePerHour: undefined, ...place };
  expect(groupService(groupObject())).toMatchObject({ apiVersion: 'v1', kind: 'Service' });
  expect(workerSlice(groupObject(), endpoint)).toMatchObject({
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', ports },
    endpoints: [{ addresses: ['203.0.113.7'], conditions: { ready: true } }],
  });
});

test('ports are the same in whatever order they are declared', () => {
  const http = { name: 'http', port: 8000, protocol: 'TCP' as const };
  const metrics = { name: 'metrics', port: 9000, protocol: 'TCP' as const };
  expect(samePorts([http, metrics], [metrics, http])).toBe(true);
  expect(samePorts([http, metrics], [http])).toBe(false);
  expect(
    samePorts(
      [http, metrics],
      [
        { ...http, port: 9000 },
        { ...metrics, port: 8000 },
      ],
    ),
  ).toBe(false);
});
