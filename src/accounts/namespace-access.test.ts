import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { silentLogger } from '../lib/logger.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { isNamespaceAllowed, matches, NamespaceLabels } from './namespace-access.ts';

type AllowedNamespaces = MarketplaceAccount['spec']['allowedNamespaces'];

const account = (allowedNamespaces: AllowedNamespaces): MarketplaceAccount => ({
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'MarketplaceAccount',
  metadata: { name: 'default', namespace: 'home' },
  spec: {
    market: 'Vast',
    apiKeySecretRef: { name: 'key', key: 'api-key' },
    pollInterval: '10s',
    allowedNamespaces,
    limits: {},
    orphanPolicy: 'Report',
    adoption: 'None',
    maxUnhealthy: '20%',
    maxUnhealthyHold: '30m',
  },
});

const labels: Record<string, Record<string, string>> = { guest: { team: 'ml' }, stranger: {} };
const cluster = { namespaced: false, labelsOf: (name: string) => labels[name] ?? 'unreadable' };
const ml: AllowedNamespaces = { from: 'Selector', selector: { matchLabels: { team: 'ml' } } };

test.each([
  ['its own namespace is always allowed', { from: 'Same' }, 'home', true],
  ['Same refuses another', { from: 'Same' }, 'guest', false],
  ['All allows another', { from: 'All' }, 'stranger', true],
  ['a selector allows what it matches', ml, 'guest', true],
  ['a selector refuses what it does not match', ml, 'stranger', false],
  ['Selector without a selector refuses every namespace', { from: 'Selector' }, 'guest', false],
  ['a selector refuses a namespace that cannot be read', ml, 'unknown', false],
] as const)('%s', (_, allowed, namespace, expected) => {
  expect(isNamespaceAllowed(account(allowed), namespace, cluster)).toBe(expected);
});

test('whether a selector allows a namespace is open while its labels are being read', () => {
  const reading = { namespaced: false, labelsOf: () => 'reading' as const };
  expect(isNamespaceAllowed(account(ml), 'guest', reading)).toBeUndefined();
  expect(isNamespaceAllowed(account(ml), 'home', reading)).toBe(true);
});

test.each([[{ from: 'All' } as const], [ml]])(
  'in namespaced mode only its own namespace is allowed',
  (allowed) => {
    expect(isNamespaceAllowed(account(allowed), 'guest', { ...cluster, namespaced: true })).toBe(false);
    expect(isNamespaceAllowed(account(allowed), 'home', { ...cluster, namespaced: true })).toBe(true);
  },
);

describe('labels that are read one namespace at a time', () => {
  function reading(answer: () => Promise<unknown>) {
    const clock = createVirtualClock();
    let changes = 0;
    const names: string[] = [];
    const get = (_resource: unknown, { name }: { readonly name: string }) => {
      names.push(name);
      return answer();
    };
    const labels = new NamespaceLabels({
      client: { get } as unknown as KubeClient,
      clock,
      log: silentLogger,
      onChange: () => {
        changes++;
      },
    });
    const look = async (name: string) => {
      labels.labelsOf(name);
      await clock.settle();
      return labels.labelsOf(name);
    };
    return { clock, labels, look, names, changes: () => changes };
  }

  test('are unknown at first, reported once they are read, and cached for a minute', async () => {
    const { clock, labels, look, names, changes } = reading(async () => ({
      metadata: { labels: { team: 'ml' } },
    }));
    expect(labels.labelsOf('guest')).toBe('reading');
    expect(await look('guest')).toEqual({ team: 'ml' });
    expect(names).toEqual(['guest']);
    expect(changes()).toBe(1);
    await clock.advance(60_000);
    await look('guest');
    expect(names).toHaveLength(2);
    expect(changes()).toBe(1);
  });

  test('that cannot be read are reported as unreadable, and such a namespace passes no selector', async () => {
    const { labels, look, changes } = reading(() => Promise.reject(new Error('no answer')));
    expect(await look('guest')).toBe('unreadable');
    expect(changes()).toBe(1);
    const others: AllowedNamespaces = {
      from: 'Selector',
      selector: { matchExpressions: [{ key: 'blocked', operator: 'DoesNotExist' }] },
    };
    const cluster = { namespaced: false, labelsOf: (name: string) => labels.labelsOf(name) };
    expect(isNamespaceAllowed(account(others), 'guest', cluster)).toBe(false);
  });

  test('are forgotten when they were not requested for an hour, so that memory does not grow with namespaces that come and go', async () => {
    const { clock, labels, look } = reading(async () => ({ metadata: { labels: { team: 'ml' } } }));
    await look('passing');
    await look('staying');
    await clock.advance(30 * 60_000);
    await look('staying');
    await clock.advance(31 * 60_000);
    await look('staying');
    expect(labels.labelsOf('staying')).toEqual({ team: 'ml' });
    expect(labels.labelsOf('passing')).toBe('reading');
  });

  test('that were read once stay when a later read fails', async () => {
    let fails = false;
    const { clock, look } = reading(async () => {
      if (fails) throw new Error('no answer');
      return { metadata: { labels: { team: 'ml' } } };
    });
    await look('guest');
    fails = true;
    await clock.advance(60_000);
    expect(await look('guest')).toEqual({ team: 'ml' });
  });
});

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
    [
      'Exists of what every object inherits',
      { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] },
      false,
    ],
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
