import { describe, expect, test } from 'vitest';
import { given, held } from '../../../test/builders/observed.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { AccountRegistry } from '../account-registry.ts';
import { rentalTraces } from './rental-traces.ts';

interface Login {
  readonly labels?: readonly (string | null)[];
  readonly connected?: boolean;
  readonly session?: false;
  readonly tried?: boolean;
}

const account = (name: string, login?: unknown) =>
  ({
    metadata: { name, namespace: 'team' },
    status: login === undefined ? {} : { login },
  }) as MarketplaceAccount;

/** A registry in which each account has what is said of it; the ids of machines go on from account to account. */
function registryOf(logins: Readonly<Record<string, Login>>): AccountRegistry {
  return {
    session: ({ name }: { name: string }) => {
      const { labels, connected = true, session } = logins[name] ?? {};
      if (session === false) return undefined;
      const rows = labels && new Map(labels.map((label, id) => [id, { id, label }]));
      return { feed: { latest: () => rows && { rows } }, connected: () => connected };
    },
    wasTried: ({ name }: { name: string }) => logins[name]?.tried ?? false,
  } as unknown as AccountRegistry;
}

const traces = (
  logins: Readonly<Record<string, Login>>,
  instances: readonly GpuInstance[] = [],
  login?: unknown,
) =>
  rentalTraces(
    instances,
    Object.keys(logins).map((name) => account(name, login)),
    registryOf(logins),
  );

describe('what speaks for an earlier identity', () => {
  test('is each object with a claim or an intent', () => {
    const { object } = given(held());
    const { metadata, status, ...rest } = object;
    const withClaim = { ...rest, metadata: { ...metadata, annotations: {} }, status: { ...status } };
    const withIntent = { ...rest, metadata };
    const withNeither = { ...rest, metadata: { name: 'bare' } };
    expect(traces({}, [withClaim, withIntent, withNeither]).objectsWithRentals).toBe(2);
    expect(traces({}, [withClaim]).objectsWithRentals).toBe(1);
    expect(traces({}, [withNeither, withNeither]).objectsWithRentals).toBe(0);
  });

  test('is each machine with a label of an operator, counted once for all accounts of a login', () => {
    const labels = ['gpurental1:99999999:u:1:0:00', null, 'mine', 'gpurental1-retained:x'];
    expect(traces({ a: { labels }, b: { labels }, c: {} }).labelledMachines).toBe(2);
  });
});

describe('an account whose machines are not listed yet', () => {
  test.each<readonly [string, Login, unknown, readonly string[]]>([
    ['is none once a list was seen', { labels: [] }, undefined, []],
    ['is one before', { connected: false }, undefined, ['team/a']],
    ['is one without a session', { session: false }, undefined, ['team/a']],
    [
      'is none where its key opened no session and it never had a login',
      { session: false, tried: true },
      undefined,
      [],
    ],
    [
      'is one where it had a login before, whatever its key says now',
      { session: false, tried: true },
      { userId: 7 },
      ['team/a'],
    ],
  ])('%s', (_, state, login, unlisted) => {
    expect(traces({ a: state }, [], login).unlisted).toEqual(unlisted);
  });
});
