import { describe, expect, test } from 'vitest';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { isNamespaceAllowed, matches } from './namespace-labels.ts';

type AllowedNamespaces = MarketplaceAccount['spec']['allowedNamespaces'];

const account = (allowedNamespaces: AllowedNamespaces): MarketplaceAccount => ({
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'MarketplaceAccount',
  metadata: { name: 'default', namespace: 'home' },
  spec: {
    apiKeySecretRef: { name: 'key', key: 'api-key' },
    pollInterval: '10s',
    allowedNamespaces,
    limits: {},
    orphanPolicy: 'Report',
    adoption: 'None',
    maxUnhealthy: '20%',
  },
});

const labels: Record<string, Record<string, string>> = { guest: { team: 'ml' }, stranger: {} };
const cluster = { namespaced: false, labelsOf: (name: string) => labels[name] };
const ml: AllowedNamespaces = { from: 'Selector', selector: { matchLabels: { team: 'ml' } } };

test.each([
  ['its own namespace is always allowed', { from: 'Same' }, 'home', true],
  ['Same refuses another', { from: 'Same' }, 'guest', false],
  ['All allows another', { from: 'All' }, 'stranger', true],
  ['a selector allows what it matches', ml, 'guest', true],
  ['a selector refuses what it does not match', ml, 'stranger', false],
  ['a selector refuses a namespace that is not known', ml, 'unknown', false],
] as const)('%s', (_, allowed, namespace, expected) => {
  expect(isNamespaceAllowed(account(allowed), namespace, cluster)).toBe(expected);
});

test.each([[{ from: 'All' } as const], [ml]])(
  'in namespaced mode only its own namespace is allowed',
  (allowed) => {
    expect(isNamespaceAllowed(account(allowed), 'guest', { ...cluster, namespaced: true })).toBe(false);
    expect(isNamespaceAllowed(account(allowed), 'home', { ...cluster, namespaced: true })).toBe(true);
  },
);

describe('label selectors', () => {
  test.each([
    ['an empty one matches everything', {}, true],
    [
      'In with the value',
      { matchExpressions: [{ key: 'team', operator: 'In', values: ['ml', 'web'] }] },
      true,
    ],
    ['In without the value', { matchExpressions: [{ key: 'team', operator: 'In', values: ['web'] }] }, false],
    [
      'NotIn with the value',
      { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['ml'] }] },
      false,
    ],
    [
      'NotIn of a missing label',
      { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['x'] }] },
      true,
    ],
    ['Exists', { matchExpressions: [{ key: 'team', operator: 'Exists' }] }, true],
    ['DoesNotExist', { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }, false],
    [
      'all must hold',
      { matchLabels: { team: 'ml' }, matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
      false,
    ],
  ] as const)('%s', (_, selector, expected) => {
    const wanted = selector as Parameters<typeof matches>[0];
    expect(matches(wanted, { team: 'ml' })).toBe(expected);
  });
});
