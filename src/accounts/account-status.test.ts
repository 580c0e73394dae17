import { describe, expect, test } from 'vitest';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { avoidOf } from './avoid-list.ts';
import { breakerOf } from './breaker.ts';
import { pollIntervalOf } from './connection.ts';
import { deletedSumsOf } from './spend-limits.ts';

const account = (status: MarketplaceAccount['status'], pollInterval = '10s') =>
  ({ spec: { pollInterval }, status }) as MarketplaceAccount;
const AT = '2026-11-20T12:00:00Z';

test.each([
  ['30s', 5_000, 30_000],
  ['1s', 5_000, 5_000],
  ['never', 5_000, 10_000],
])('an account that asks for a poll every %s, where %d ms are the least, gets %d ms', (wish, floor, ms) => {
  expect(pollIntervalOf(account(undefined, wish), floor)).toBe(ms);
});

describe('what a status remembers', () => {
  test('is nothing where there is none', () => {
    const fresh = account(undefined);
    expect([avoidOf(fresh), breakerOf(fresh), deletedSumsOf(fresh)]).toEqual([
      [],
      { type: 'closed' },
      undefined,
    ]);
  });

  test('is what to keep off, machine or host', () => {
    const avoid = [
      { kind: 'Host' as const, id: '1', until: AT, failures: 2, reason: 'HostOffline' },
      { kind: 'Machine' as const, id: '2', until: AT, failures: 1, reason: 'Exited' },
    ];
    expect(avoidOf(account({ avoid }))).toEqual([
      { target: { type: 'host', id: '1' }, until: Date.parse(AT), failures: 2, reason: 'HostOffline' },
      { target: { type: 'machine', id: '2' }, until: Date.parse(AT), failures: 1, reason: 'Exited' },
    ]);
  });

  test('is an open breaker, so that a restart replaces nothing', () => {
    expect(breakerOf(account({ breaker: { open: true, since: AT, unhealthy: 4 } }))).toEqual({
      type: 'open',
      since: Date.parse(AT),
      cause: 'massFailure',
      unhealthy: 4,
      message: 'The breaker is open in the status of the account; nothing is replaced or swept.',
    });
    expect(breakerOf(account({ breaker: { open: false, since: AT, unhealthy: 4 } }))).toEqual({
      type: 'closed',
    });
  });

  test('is what one namespace keeps off by itself', () => {
    const entry = { kind: 'Machine' as const, id: '2', until: AT, failures: 1, reason: 'Exited' };
    const avoid = [{ ...entry, namespace: 'team' }, entry];
    expect(avoidOf(account({ avoid })).map((each) => 'namespace' in each && each.namespace)).toEqual([
      'team',
      false,
    ]);
  });

  test.each([
    [true, 'hold'],
    [false, 'person'],
  ])(
    'is a breaker that was released (open: %s) by the %s, and no object has its turn',
    (open, releasedBy) => {
      const breaker = { open, since: AT, unhealthy: 4, releasedAt: '2026-11-20T13:00:00Z' };
      expect(breakerOf(account({ breaker }))).toEqual({
        type: 'slow',
        since: Date.parse(AT),
        releasedAt: Date.parse('2026-11-20T13:00:00Z'),
        releasedBy,
        unhealthy: 4,
        message: 'The breaker is released in the status of the account; machines are replaced one at a time.',
        turn: undefined,
      });
    },
  );

  test('is what deleted objects left', () => {
    expect(
      deletedSumsOf(account({ deletedObjects: { month: '2026-11', spent: '1.50', rentals: [AT] } })),
    ).toEqual({
      month: '2026-11',
      spent: 1_500_000,
      rentals: [Date.parse(AT)],
    });
  });
});
