import { KeptKeys } from '../accounts/api-keys.ts';
import { createGpuInstanceController } from '../controllers/gpu-instance/controller.ts';
import { createMarketplaceAccountController } from '../controllers/marketplace-account/controller.ts';
import { KeyChecks } from '../controllers/marketplace-account/key-checks.ts';
import { createOrphanSweep } from '../controllers/orphan-sweep/controller.ts';
import type { ListedObject } from '../controllers/orphan-sweep/observe.ts';
import { SweepMemory } from '../controllers/orphan-sweep/sweep-memory.ts';
import { type AccountRef, accountKey, accountRefOf } from '../instance/account-ref.ts';
import { summarize } from '../instance/summary.ts';
import { createMarketplaceClient } from '../marketplace/client.ts';
import type { Controller } from '../runtime/controller.ts';
import { KEPT } from './caches.ts';
import { ALWAYS_LEADING, isLeading } from './leading.ts';
import { listAll, type Wiring } from './wiring.ts';

/** Every controller, in the order in which they start. */
export function createControllers(wiring: Wiring): readonly Controller[] {
  return [accountController(wiring), instanceController(wiring), orphanSweep(wiring)];
}

function accountController(wiring: Wiring): Controller {
  const { config, env, kube, caches, objects, connections } = wiring;
  const { clock } = env;
  const kept = new KeptKeys(kube, config.namespace);
  const keyChecks = new KeyChecks({
    kube,
    kept,
    clock,
    intervalMs: config.keyCheckInterval,
    clientFor: ({ uid, url, key }, login) =>
      createMarketplaceClient({
        ...env,
        transport: env.marketplace,
        baseUrl: url,
        apiKey: key,
        pacer: login ? connections.pacerOfProof(login, uid) : connections.pacerOf(uid),
      }),
  });
  return createMarketplaceAccountController({
    ...wiring,
    ...env,
    kube,
    kept,
    keyChecks,
    accounts: caches.accounts,
    workers: config.marketplaceAccountWorkers,
    allowedUrls: config.marketplaceUrl,
    keyCheckIntervalMs: config.keyCheckInterval,
    allObjects: () => objects.all(),
    listObjects: (ref) => listObjectsOf(wiring, ref),
    isLeader: () => isLeading(wiring),
  });
}

function instanceController(wiring: Wiring): Controller {
  const { env, constants, events, metrics, prober, config, kube, caches, registry, installation } = wiring;
  return createGpuInstanceController({
    env,
    constants,
    events,
    metrics,
    prober,
    allowPrivateAddresses: config.allowPrivateAddresses,
    cluster: kube,
    instances: caches.instances,
    accounts: registry,
    identity: () => installation.identity(),
    lease: wiring.election ?? ALWAYS_LEADING,
    workers: config.gpuInstanceWorkers,
    instanceMetrics: wiring.rentalMetrics,
  });
}

function orphanSweep(wiring: Wiring): Controller {
  const { env, caches, objects } = wiring;
  return createOrphanSweep({
    ...wiring,
    ...env,
    accounts: caches.accounts,
    allObjects: () => objects.all(),
    listObjects: () => listObjects(wiring),
    listAccounts: () => listAll(wiring, KEPT.accounts),
    memory: new SweepMemory(),
    isLeader: () => isLeading(wiring),
    sweepMetrics: wiring.rentalMetrics,
  });
}

async function listObjects(wiring: Wiring): Promise<readonly ListedObject[]> {
  const instances = await listAll(wiring, KEPT.instances);
  const now = wiring.env.clock.now();
  const keys = wiring.installation.identity()?.keys;
  return instances.map((instance) => ({
    ...summarize(instance, now, keys),
    account: accountKey(accountRefOf(instance)),
  }));
}

/** Those that name an account. */
async function listObjectsOf(wiring: Wiring, ref: AccountRef): Promise<readonly ListedObject[]> {
  return (await listObjects(wiring)).filter(({ account }) => account === accountKey(ref));
}
