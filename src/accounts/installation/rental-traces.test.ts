import { describe, expect, test } from 'vitest';
import { given, withMachine } from '../../../test/builders/observed.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { AccountRegistry } from '../registry.ts';
import { rentalTraces } from './rental-traces.ts';

const FORMER = 'abcdef01';
const LABEL = `gpurental1:${FORMER}:u:1:0:00`;

interface Login {
  readonly userId?: string;
  /** Labels of its listed machines; empty without a list. */
  readonly labels?: readonly (string | null)[];
  readonly failures?: number;
  readonly session?: false;
  readonly tried?: boolean;
  /** The installation that its status names. */
  readonly installation?: string;
}

const account = (name: string, { installation }: Login) =>
  ({
    metadata: { name, namespace: 'team' },
    status: installation === undefined ? {} : { installation },
  }) as MarketplaceAccount;

/** Returns a registry with these accounts by login. */
function registryOf(logins: Readonly<Record<string, Login>>): AccountRegistry {
  return {
    session: ({ name }: { name: string }) => {
      const { labels, failures = 0, session, userId = 7 } = logins[name] ?? {};
      if (session === false) return undefined;
      const rows = labels && new Map(labels.map((label, id) => [id, { id, label }]));
      const feed = { latest: () => rows && { rows }, health: () => ({ consecutiveFailures: failures }) };
      return { login: { url: 'https://market.example', userId }, feed, isListed: rows !== undefined };
    },
    wasTried: ({ name }: { name: string }) => logins[name]?.tried ?? false,
  } as unknown as AccountRegistry;
}

const traces = (logins: Readonly<Record<string, Login>>, instances: readonly GpuInstance[] = []) =>
  rentalTraces(
    instances,
    Object.entries(logins).map(([name, login]) => account(name, login)),
    registryOf(logins),
  );

describe('what speaks for an earlier identity', () => {
  test('is each object with a claim or an intent', () => {
    const { object } = given(withMachine());
    const { metadata, status, ...rest } = object;
    const withClaim = { ...rest, metadata: { ...metadata, annotations: {} }, status: { ...status } };
    const withIntent = { ...rest, metadata };
    const withNeither = { ...rest, metadata: { name: 'bare' } };
    expect(traces({}, [withClaim, withIntent, withNeither]).objectsWithRentals).toBe(2);
    expect(traces({}, [withClaim]).objectsWithRentals).toBe(1);
    expect(traces({}, [withNeither, withNeither]).objectsWithRentals).toBe(0);
  });

  test('is each machine whose label names the installation that its account rented with, once for all accounts of a login', () => {
    const known = { labels: [LABEL, null, 'mine', LABEL], installation: FORMER };
    expect(traces({ a: known, b: known }).ownMachines).toBe(2);
    expect(traces({ a: known, b: { ...known, userId: '8' } }).ownMachines).toBe(4);
  });

  test.each<readonly [string, Login]>([
    ['a label of another installation', { labels: ['gpurental1:99999999:u:1:0:00'], installation: FORMER }],
    ['any label where this cluster never rented with the account', { labels: [LABEL] }],
    [
      'a machine that was kept on purpose',
      { labels: [`gpurental1-retained:${FORMER}:u:1:0:00`], installation: FORMER },
    ],
    ['a label that is cut', { labels: ['gpurental1:abcdef'], installation: 'abcdef' }],
  ])('is not %s (H7)', (_, login) => {
    expect(traces({ a: login })).toEqual({ objectsWithRentals: 0, ownMachines: 0, unlisted: 0 });
  });
});

describe('a first start waits for the list of an account (H7)', () => {
  const former = { installation: FORMER };
  test.each<readonly [string, Login, number]>([
    ['not if it is new in this cluster, whatever its key may do', {}, 0],
    ['not if it is new in this cluster and its lists fail', { failures: 3 }, 0],
    ['not if it is new in this cluster and has no session', { session: false }, 0],
    ['if this cluster rented with it before', { ...former }, 1],
    ['if this cluster rented with it before and its key was not tried yet', { ...former, session: false }, 1],
    ['until the list is there', { ...former, labels: [] }, 0],
    ['until the list fails', { ...former, failures: 1 }, 0],
    ['until its key is refused', { ...former, session: false, tried: true }, 0],
  ])('%s', (_, login, unlisted) => {
    expect(traces({ a: login }).unlisted).toBe(unlisted);
  });
});
