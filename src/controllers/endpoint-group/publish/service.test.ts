import { expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { groupService, isGroupService, samePorts, workerSlice } from './service.ts';

const groupLabels = { [labels.managedBy]: OPERATOR_NAME, [labels.endpointName]: 'llm' };

test.each<[string, Record<string, string> | undefined, boolean]>([
  ['with both labels belongs to groups', groupLabels, true],
  ['of another manager does not', { ...groupLabels, [labels.managedBy]: 'helm' }, false],
  ['labelled for another name does not', { ...groupLabels, [labels.endpointName]: 'other' }, false],
  ['without labels does not', undefined, false],
])('a Service %s', (_, given, isOfGroups) => {
  const metadata = { name: 'llm', namespace: 'team', ...(given && { labels: given }) };
  expect(isGroupService({ apiVersion: 'v1', kind: 'Service', metadata })).toBe(isOfGroups);
});

test('Service and slice have API versions that the API server serves', () => {
  const ports = [{ name: 'http', port: 20_007, protocol: 'TCP' as const }];
  const place = { address: '203.0.113.7', addressType: 'IPv4' as const, ports };
  const endpoint = { worker: workerObject('w'), isDraining: false, pricePerHour: undefined, ...place };
  expect(groupService(groupObject())).toMatchObject({ apiVersion: 'v1', kind: 'Service' });
  expect(workerSlice(groupObject(), endpoint)).toMatchObject({
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', ports },
    endpoints: [{ addresses: ['203.0.113.7'], conditions: { ready: true } }],
  });
});

test('compares ports in any order', () => {
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
