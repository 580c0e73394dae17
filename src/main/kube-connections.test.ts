import { expect, test } from 'vitest';
import { kubeConnectionsFor } from './kube-connections.ts';

const namespaces = (count: number) => Array.from({ length: count }, (_, index) => `team-${index}`);

test.each([
  ['what is configured', 24, 0, 24],
  ['what is configured, where it leaves enough', 64, 8, 64],
  ['enough for the lease and for writes beside the watches of eight namespaces', 24, 8, 40],
  ['enough beside those of a hundred', 1, 100, 316],
] as const)('there are %s', (_, kubeConnections, count, expected) => {
  expect(kubeConnectionsFor({ kubeConnections, watchNamespace: namespaces(count) })).toBe(expected);
});
