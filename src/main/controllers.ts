import { KeptKeys } from '../accounts/api-keys.ts';
import type { MachineLogs } from '../accounts/machine-logs.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { GroupIdentities } from '../controllers/endpoint-group/identity/identities.ts';
import { createGpuInstanceController } from '../controllers/gpu-instance/controller.ts';
import type { LeaseReports } from '../controllers/gpu-instance/lease-reports.ts';
import { createMarketplaceAccountController } from '../controllers/marketplace-account/controller.ts';
import { KeyChecks } from '../controllers/marketplace-account/key-checks.ts';
import { createChildSweep } from '../controllers/orphan-sweep/child-sweep.ts';
import { createOrphanSweep } from '../controllers/orphan-sweep/controller.ts';
import type { ListedObject } from '../controllers/orphan-sweep/observe.ts';
import { SweepMemory } from '../controllers/orphan-sweep/sweep-memory.ts';
import { createSpendBudgetController } from '../controllers/spend-budget/controller.ts';
import { type AccountRef, accountKey, accountRefOf } from '../instance/account-ref.ts';
import { summarize } from '../instance/summary.ts';
import { openMarket } from '../markets/catalog.ts';
import type { Controller } from '../runtime/controller.ts';
import type { LeaderElection } from '../runtime/lease/leader-election.ts';
import type { LeaderTask } from '../runtime/manager.ts';
import type { RuntimeMetrics } from '../server/runtime-metrics.ts';
import { BY_NAMESPACE, KEPT } from './caches.ts';
import { listAll, type Wiring } from './wiring.ts';

/** Parts of the operator that the controller of GpuInstances informs or asks. */
interface InstanceHelpers {
  readonly identities: Pick<GroupIdentities, 'issue' | 'callerOf'>;
  readonly logs: Pick<MachineLogs, 'ended'>;
  readonly leaseReports: LeaseReports;
}

/** Returns all controllers in the order of their start. */
export function createControllers(wiring: Wiring, helpers: InstanceHelpers): readonly Controller[] {
  const { config, env, caches } = wiring;
  const childSweep = createChildSweep({
    ...env,
    metrics: wiring.metrics,
    cluster: wiring.kube,
    namespaces: config.watchNamespace,
    isLeader: () => isLeading(wiring),
    retained: () => caches.accounts.list().flatMap(retainedBy),
  });
  return [
    accountController(wiring),
    instanceController(wiring, helpers),
    orphanSweep(wiring),
    childSweep,
    budgetController(wiring),
  ];
}

function retainedBy({ status }: MarketplaceAccount): readonly string[] {
  return (status?.retained ?? []).map(({ instanceId }) => instanceId);
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
    marketFor: ({ uid, url, key, market }, login) =>
      (wiring.openMarket ?? openMarket)(market, {
        ...env,
        transport: env.marketplace,
        ...{ url, key },
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

function instanceController(wiring: Wiring, { identities, logs, leaseReports }: InstanceHelpers): Controller {
  const { env, constants, events, metrics, prober, config, kube, caches, registry, installation } = wiring;
  const { budgets, runSsh, steady } = wiring;
  return createGpuInstanceController({
    env,
    constants,
    steady,
    events,
    metrics,
    prober,
    runSsh,
    leaseReports,
    reportUrl: config.workerReportUrl,
    allowPrivateAddresses: config.allowPrivateAddresses,
    cluster: kube,
    instances: caches.instances,
    spendBudgets: caches.budgets,
    accounts: registry,
    ledger: wiring.ledger,
    budgets,
    identity: () => installation.identity(),
    issueIdentity: (worker) => identities.issue(worker),
    callerOf: (worker) => identities.callerOf(worker),
    onRunLog: logs.ended,
    lease: wiring.election ?? ALWAYS_LEADING,
    workers: config.gpuInstanceWorkers,
    instanceMetrics: wiring.rentalMetrics,
  });
}

function budgetController({ env, caches, kube, events, metrics, budgets }: Wiring): Controller {
  return createSpendBudgetController({
    ...env,
    ...{ kube, events, metrics, budgets },
    spendBudgets: caches.budgets,
    instances: caches.instances,
    budgetsOf: (namespace) => caches.budgets.byIndex(BY_NAMESPACE, namespace),
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

/** Returns the objects that name an account. */
async function listObjectsOf(wiring: Wiring, ref: AccountRef): Promise<readonly ListedObject[]> {
  return (await listObjects(wiring)).filter(({ account }) => account === accountKey(ref));
}

interface ControllersTaskOptions {
  readonly metrics: Pick<RuntimeMetrics, 'watchQueue'>;
  /** Milliseconds that all of them together may take to stop. */
  readonly graceMs: number;
}

/**
 * Runs the controllers as one task. All of them stop at the same time, so none starts work while another ends, and
 * one grace period covers all. The task ends when all controllers have ended, with or without an error.
 */
export function controllersTask(
  controllers: readonly Pick<Controller, 'name' | 'queue' | 'start' | 'stop'>[],
  { metrics, graceMs }: ControllersTaskOptions,
): LeaderTask {
  return {
    name: 'controllers',
    start() {
      for (const controller of controllers) {
        metrics.watchQueue(controller.name, controller.queue);
        controller.start();
      }
    },
    async stop() {
      const ends = await Promise.allSettled(controllers.map((controller) => controller.stop(graceMs)));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

/** The lease of a process without leader election: no other process can lead. */
export const ALWAYS_LEADING: Pick<LeaderElection, 'leaseRemainingMs'> = {
  leaseRemainingMs: () => Number.POSITIVE_INFINITY,
};

/** Returns true if this process leads long enough for work that begins now to end before another process may lead. */
export function isLeading({
  election,
  constants,
}: {
  readonly election: Pick<LeaderElection, 'leaseRemainingMs'> | undefined;
  readonly constants: Pick<Wiring['constants'], 'leaseMarginMs'>;
}): boolean {
  return (election ?? ALWAYS_LEADING).leaseRemainingMs() > constants.leaseMarginMs;
}
