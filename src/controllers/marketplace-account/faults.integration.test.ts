import { describe, expect, test } from 'vitest';
import type { Address } from '../../../test/simulation/memory-kube/address.ts';
import {
  type Effect,
  fateOf,
  isEffect,
  nameOfCall,
  type Strike,
  strikesOn,
} from '../../../test/simulation/plan.ts';
import { NAMESPACE, SimulatedWorld } from '../../../test/simulation/world.ts';

const SECOND = 1_000;
const QUIET = { requestMs: 2, responseMs: 2 };
const STALE_MS = 30 * SECOND;

interface Life {
  readonly effects: readonly Effect[];
  /** Objects that are left at the end, besides the identity. */
  readonly leftOver: readonly string[];
  /** True if it was Ready when everything was in order. */
  readonly wasReady: boolean;
  /** True if the kept key replaced the missing Secret. */
  readonly usedKeptKey: boolean;
  readonly identities: number;
}

/**
 * Runs an account from its creation to its deletion with one fault: Ready, its Secret deleted and restored, deleted.
 * Every write of the operator is an effect; the operator is restarted whenever it dies.
 */
async function accountLife(strike?: { readonly index: number; readonly what: Strike }): Promise<Life> {
  const effects: Effect[] = [];
  let hides = 0;
  let staleUntil = 0;
  const world = new SimulatedWorld({
    seed: 1,
    keepTrace: false,
    flags: { keyCheckInterval: '10s' },
    fate: ({ side, request }) => {
      if (request.path.includes('watch=true')) {
        return {
          ...QUIET,
          chunkDelayMs: () => Math.max(0, staleUntil - world.now),
          dropChunk: () => hides > 0 && hides-- > 0,
        };
      }
      if (!isEffect(request)) return QUIET;
      const index = effects.length;
      effects.push({ index, side, what: nameOfCall(request) });
      if (strike?.index !== index) return QUIET;
      if (strike.what === 'hide') hides = 1;
      if (strike.what === 'stale') staleUntil = world.now + STALE_MS;
      return fateOf(strike.what, side);
    },
  });
  const address = (plural: string, name: string, namespace: string | undefined = NAMESPACE): Address => ({
    kind: world.kube.kind(plural),
    namespace,
    name,
  });
  const key = { data: { 'api-key': Buffer.from(world.market.apiKey).toString('base64') } };
  const createSecret = () =>
    world.kube.writes.create(address('secrets', 'marketplace-key'), {
      ...key,
      metadata: { name: 'marketplace-key' },
    });
  const account = () => world.kube.writes.read(address('marketplaceaccounts', 'default'));
  const reasonOf = (type: string) => {
    const status = account()?.status as
      | { conditions?: { type: string; status: string; reason: string }[] }
      | undefined;
    return status?.conditions?.find((condition) => condition.type === type)?.reason;
  };
  const runTo = async (second: number) => {
    while (world.second < second) await world.scheduler.runUntil(world.now + 5 * SECOND, () => false);
  };

  createSecret();
  world.kube.writes.create(address('marketplaceaccounts', 'default'), {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'MarketplaceAccount',
    metadata: { name: 'default' },
    spec: { apiKeySecretRef: { name: 'marketplace-key', key: 'api-key' } },
  });
  world.startProcess();
  await runTo(150);
  const wasReady = reasonOf('Ready') === 'Ready';
  world.kube.writes.delete(address('secrets', 'marketplace-key'), {});
  await runTo(300);
  const usedKeptKey = reasonOf('Authenticated') === 'UsingKeptKey';
  createSecret();
  await runTo(450);
  world.kube.writes.delete(address('marketplaceaccounts', 'default'), {});
  await runTo(800);

  const secrets = world.kube.store.all(world.kube.kind('secrets'));
  const names = secrets.map((secret) => String((secret.metadata as { name?: string }).name));
  const identity = (name: string) => name === 'gpu-rental-operator-identity';
  return {
    effects,
    wasReady,
    usedKeptKey,
    identities: names.filter(identity).length,
    leftOver: [
      ...names.filter((name) => !identity(name) && name !== 'marketplace-key'),
      ...(account() ? ['the account'] : []),
    ],
  };
}

describe('an account under a crash, a lost call, a missed event or a stale read at each of its effects', () => {
  test('without any, it lives in few writes', async () => {
    const life = await accountLife();
    expect(life).toMatchObject({ wasReady: true, usedKeptKey: true, identities: 1, leftOver: [] });
    // The first status says that a second reply has to name the same user: without one, tools that wait for the account
    // take it for ready. The DELETE probes whether the key may destroy, once for all Secrets that hold the key.
    expect(life.effects.map(({ what }) => what)).toMatchInlineSnapshot(`
      [
        "POST /api/v1/namespaces/gpu-rental-system/secrets",
        "POST /api/v1/namespaces/gpu-rental-system/configmaps",
        "PUT /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default/status",
        "DELETE /api/v0/instances/<id>/",
        "PATCH /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default",
        "PUT /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default/status",
        "POST /api/v1/namespaces/gpu-rental-system/secrets",
        "PUT /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default/status",
        "PUT /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default/status",
        "PUT /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default/status",
        "PUT /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default/status",
        "PUT /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default/status",
        "DELETE /api/v1/namespaces/gpu-rental-system/secrets/gpuacct-<uid>",
        "PATCH /apis/gpurental.dev/v1alpha1/namespaces/default/marketplaceaccounts/default",
      ]
    `);
  });

  test('with each of them, it comes to the same end', async () => {
    const { effects } = await accountLife();
    for (const effect of effects) {
      for (const what of strikesOn(effect)) {
        const life = await accountLife({ index: effect.index, what });
        expect({ effect: effect.what, what, ...life, effects: undefined }).toEqual({
          effect: effect.what,
          what,
          effects: undefined,
          wasReady: true,
          usedKeptKey: true,
          identities: 1,
          leftOver: [],
        });
      }
    }
  }, 120_000);
});
