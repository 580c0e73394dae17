import { accountObject } from '../accounts/account-object.ts';
import { AccountRegistry } from '../accounts/account-registry.ts';
import type { AccountRef } from '../accounts/account-session.ts';
import { Installation } from '../accounts/installation.ts';
import { KeptKeys } from '../accounts/kept-key.ts';
import { LoginConnections } from '../accounts/login-connection.ts';
import { isNamespaceAllowed, NamespaceLabels } from '../accounts/namespace-labels.ts';
import { rentalTraces } from '../accounts/rental-traces.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { CONTROLLER_NAME, gpuInstanceResource, OPERATOR_NAME } from '../api/v1alpha1/names.ts';
import type { Config } from '../config.ts';
import { createGpuInstanceController } from '../controllers/gpu-instance/controller.ts';
import type { Prober } from '../controllers/gpu-instance/probe.ts';
import { createMarketplaceAccountController } from '../controllers/marketplace-account/controller.ts';
import { KeyChecks } from '../controllers/marketplace-account/key-checks.ts';
import { createOrphanSweep } from '../controllers/orphan-sweep/controller.ts';
import { SweepMemory } from '../controllers/orphan-sweep/sweep-memory.ts';
import type { Env } from '../lib/env.ts';
import { createMarketplaceClient } from '../marketplace/client.ts';
import { createPacer } from '../marketplace/pacing.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { scopeOf } from '../ownership/identity.ts';
import type { Controller } from '../runtime/controller.ts';
import type { Credentials } from '../runtime/credentials.ts';
import { createEventRecorder, type EventRecorder } from '../runtime/events.ts';
import { createKubeClient, type KubeClient } from '../runtime/kube-client.ts';
import { createLeaderElection, type LeaderElection } from '../runtime/leader-election.ts';
import { createManager, type LeaderTask, type Manager } from '../runtime/manager.ts';
import type { RentalMetrics } from '../server/rental-metrics.ts';
import type { RuntimeMetrics } from '../server/runtime-metrics.ts';
import { BY_ACCOUNT, type Caches, createCaches } from './caches.ts';

/** Everything effectful, and who this process is. */
export interface OperatorOptions {
  readonly config: Config;
  readonly env: Env;
  readonly kubeOrigin: string;
  readonly credentials: Credentials;
  /** Unique per process, e.g. the pod's name and a random part. */
  readonly processName: string;
  readonly metrics: RuntimeMetrics;
  readonly rentalMetrics: RentalMetrics;
  /** Asks machines whether they serve. */
  readonly prober: Prober;
}

/** The operator, wired: what runs, and what health pages and metrics look at. */
export interface Operator {
  readonly manager: Manager;
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly registry: AccountRegistry;
  readonly installation: Installation;
  readonly election: LeaderElection | undefined;
  readonly controllers: readonly Controller[];
}

/** What the parts share while they are wired. */
interface Wiring extends OperatorOptions {
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly constants: PurchaseConstants;
  readonly connections: LoginConnections;
  readonly installation: Installation;
  readonly registry: AccountRegistry;
  readonly election: LeaderElection | undefined;
}

/** The lease that replicas compete for. */
export const LEASE_NAME = OPERATOR_NAME;

/** Wires the operator. Nothing runs before `manager.run()`. */
export function createOperator(options: OperatorOptions): Operator {
  const wiring = wire(options);
  const controllers = [accountController(wiring), instanceController(wiring), orphanSweep(wiring)];
  const manager = managerOf(wiring, controllers);
  const { kube, caches, registry, installation, election } = wiring;
  return { manager, kube, caches, registry, installation, election, controllers };
}

function wire(options: OperatorOptions): Wiring {
  const { config, env, metrics } = options;
  const { clock, random, log } = env;
  const kube = createKubeClient({
    transport: env.kube,
    origin: options.kubeOrigin,
    credentials: options.credentials,
    userAgent: OPERATOR_NAME,
    clock,
    random,
    log,
    metrics,
  });
  const caches = createCaches({
    client: kube,
    namespaces: config.watchNamespace,
    clock,
    random,
    log,
    metrics,
  });
  const instance = options.processName;
  const events = createEventRecorder({
    client: kube,
    controller: CONTROLLER_NAME,
    instance,
    clock,
    random,
    log,
  });
  const paced = config.pacing === 'documented';
  const connections = new LoginConnections({ transport: env.marketplace, clock, random, log, paced });
  const accounts = wireAccounts({ ...options, kube, caches, connections });
  const election = electionOf(options, kube);
  return {
    ...options,
    ...accounts,
    kube,
    caches,
    events,
    connections,
    election,
    constants: constantsOf(config),
  };
}

interface AccountWiring extends OperatorOptions {
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly connections: LoginConnections;
}

function wireAccounts(wiring: AccountWiring): Pick<Wiring, 'installation' | 'registry'> {
  const { config, env, kube, caches, connections } = wiring;
  const { clock, random, log } = env;
  const installation = new Installation({
    client: kube,
    namespace: config.namespace,
    scope: scopeOf(config.watchNamespace),
    random,
    log,
    traces: () => rentalTraces(caches.instances.list(), caches.accounts.list(), registry),
  });
  const labels = new NamespaceLabels({ client: kube, clock, log, onChange: () => registry.announceAll() });
  const cluster = {
    namespaced: config.watchNamespace.length > 0,
    labelsOf: (namespace: string) => labels.labelsOf(namespace),
  };
  const registry: AccountRegistry = new AccountRegistry({
    client: kube,
    clock,
    connections,
    installation,
    brake: config,
    paced: config.pacing === 'documented',
    minPollIntervalMs: config.minPollInterval,
    objectsOf: objectsOf(caches, () => clock.now()),
    namespaceAllowed: (account, namespace) => isNamespaceAllowed(account, namespace, cluster),
    onWritten: (account) => caches.accounts.wrote(account),
  });
  return { installation, registry };
}

function objectsOf(caches: Caches, now: () => number) {
  return (ref: AccountRef) => {
    const instances = caches.instances.byIndex(BY_ACCOUNT, `${ref.namespace}/${ref.name}`);
    return instances.map((instance) => accountObject(instance, now()));
  };
}

function accountController(wiring: Wiring): Controller {
  const { config, env, kube, caches, registry, installation, events, metrics, constants } = wiring;
  const { clock, random, log } = env;
  const kept = new KeptKeys(kube, config.namespace);
  const marketplace = { transport: env.marketplace, clock, random, log };
  const keyChecks = new KeyChecks({
    kube,
    kept,
    clock,
    intervalMs: config.keyCheckInterval,
    clientFor: (baseUrl, apiKey) =>
      createMarketplaceClient({ ...marketplace, baseUrl, apiKey, pacer: createPacer({ clock }) }),
  });
  return createMarketplaceAccountController({
    kube,
    kept,
    keyChecks,
    registry,
    installation,
    events,
    metrics,
    constants,
    clock,
    random,
    log,
    accounts: caches.accounts,
    workers: config.marketplaceAccountWorkers,
    allowedUrls: config.marketplaceUrl,
    minPollIntervalMs: config.minPollInterval,
    keyCheckIntervalMs: config.keyCheckInterval,
    objectsOf: objectsOf(caches, () => clock.now()),
    allUids: () => new Set(caches.instances.list().map((instance) => instance.metadata.uid ?? '')),
  });
}

function instanceController(wiring: Wiring): Controller {
  const { config, env, kube, caches, registry, installation, events, metrics, constants } = wiring;
  return createGpuInstanceController({
    env,
    constants,
    events,
    metrics,
    cluster: kube,
    instances: caches.instances,
    accounts: registry,
    identity: () => installation.identity(),
    lease: wiring.election ?? ALWAYS_LEADING,
    prober: wiring.prober,
    workers: config.gpuInstanceWorkers,
    instanceMetrics: wiring.rentalMetrics,
  });
}

/** Without an election nobody else can lead. */
const ALWAYS_LEADING = { leaseRemainingMs: () => Number.POSITIVE_INFINITY };

function orphanSweep(wiring: Wiring): Controller {
  const { config, env, kube, caches, registry, installation, events, metrics, constants } = wiring;
  const { clock, random, log } = env;
  const isLeader = () => mayAct(wiring);
  return createOrphanSweep({
    registry,
    installation,
    events,
    metrics,
    constants,
    clock,
    random,
    log,
    isLeader,
    accounts: caches.accounts,
    instances: caches.instances,
    listInstances: () => listInstances(kube, config.watchNamespace),
    memory: new SweepMemory(),
    sweepMetrics: wiring.rentalMetrics,
  });
}

/** Whether this process still leads for long enough to finish a call. */
function mayAct({ election, constants }: Wiring): boolean {
  return (election ?? ALWAYS_LEADING).leaseRemainingMs() > constants.leaseMarginMs;
}

async function listInstances(
  kube: KubeClient,
  namespaces: readonly string[],
): Promise<readonly GpuInstance[]> {
  const scopes = namespaces.length === 0 ? [undefined] : namespaces;
  const lists = await Promise.all(
    scopes.map((namespace) => kube.list<GpuInstance>(gpuInstanceResource, { namespace })),
  );
  return lists.flatMap(({ items }) => items);
}

function managerOf(wiring: Wiring, controllers: readonly Controller[]): Manager {
  const { caches, election, env, installation, connections, events, metrics, config } = wiring;
  const tasks: LeaderTask[] = [
    { name: 'events', start: () => {}, stop: () => events.flush() },
    { name: 'marketplace connections', start: () => {}, stop: () => connections.closeAll() },
    { name: 'identity', start: () => lookForIdentity(installation, env), stop: () => {} },
    ...controllers.map((controller): LeaderTask => {
      metrics.watchQueue(controller.name, controller.queue);
      const { name } = controller;
      return { name, start: () => controller.start(), stop: () => controller.stop(config.shutdownGrace) };
    }),
  ];
  return createManager({
    sources: Object.values(caches),
    tasks,
    election,
    clock: env.clock,
    log: env.log,
  });
}

/** Where it cannot be found out yet, the account controller looks again with each pass. */
async function lookForIdentity(installation: Installation, { log }: Env): Promise<void> {
  try {
    const state = await installation.resolve();
    if (state.type !== 'known') log.warn('identity is not known', state.why);
  } catch (error) {
    log.warn('identity could not be read', { error });
  }
}

function electionOf(options: OperatorOptions, client: KubeClient): LeaderElection | undefined {
  const { config, env, metrics, processName } = options;
  if (!config.leaderElect) return undefined;
  return createLeaderElection({
    client,
    lease: { namespace: config.namespace, name: LEASE_NAME },
    identity: processName,
    leaseDurationMs: config.leaderElectLeaseDuration,
    renewDeadlineMs: config.leaderElectRenewDeadline,
    retryPeriodMs: config.leaderElectRetryPeriod,
    clock: env.clock,
    random: env.random,
    log: env.log,
    metrics,
  });
}

function constantsOf(config: Config): PurchaseConstants {
  return {
    ...defaultConstants,
    lateCallMs: config.lateCall,
    listLagMs: config.listLag,
    goneSpacingMs: config.goneSpacing,
    orphanAgeMs: config.orphanAge,
  };
}
