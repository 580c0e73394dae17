import { COUNT_ALL, type FollowedObjects, InstanceSummaries } from '../accounts/account-objects.ts';
import { shownMonthCost } from '../accounts/budget-rules.ts';
import { LoginConnections } from '../accounts/connection.ts';
import { Installation } from '../accounts/installation/installation.ts';
import { rentalTraces } from '../accounts/installation/rental-traces.ts';
import { LedgerKeeper } from '../accounts/ledger-keeper.ts';
import { isNamespaceAllowed, NamespaceLabels } from '../accounts/namespace-access.ts';
import { NamespaceBudgets } from '../accounts/namespace-budgets.ts';
import { AccountRegistry } from '../accounts/registry.ts';
import { CONTROLLER_NAME, OPERATOR_NAME } from '../api/v1alpha1/names.ts';
import { statusCodec } from '../api/v1alpha1/status-codec.ts';
import type { Config } from '../config/options.ts';
import type { SshRunner } from '../controllers/gpu-instance/lease-renewal.ts';
import { SteadyClock } from '../controllers/gpu-instance/memory.ts';
import type { Prober } from '../controllers/gpu-instance/probe.ts';
import { accountKey } from '../instance/account-ref.ts';
import { monthCostByNamespace } from '../ledger/cost-sums.ts';
import type { Clock } from '../lib/clock.ts';
import type { Env } from '../lib/env.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { Transport } from '../lib/transport.ts';
import { openMarket } from '../markets/catalog.ts';
import { defaultConstants, type PurchaseConstants } from '../ownership/constants.ts';
import { scopeOf } from '../ownership/identity.ts';
import { createEventRecorder, type EventRecorder } from '../runtime/events.ts';
import type { Credentials } from '../runtime/kube/credentials.ts';
import { createKubeClient, type KubeClient } from '../runtime/kube/kube-client.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import { createLeaderElection, type LeaderElection } from '../runtime/lease/leader-election.ts';
import type { RentalMetrics } from '../server/rental-metrics.ts';
import type { RuntimeMetrics } from '../server/runtime-metrics.ts';
import { BY_NAMESPACE, type Caches, createCaches, KEPT, type KeptKind } from './caches.ts';

/** Effects of the operator, and the identity of this process. */
export interface OperatorOptions {
  readonly config: Config;
  readonly env: Env;
  readonly kubeOrigin: string;
  readonly credentials: Credentials;
  /** Unique name of the process, e.g. the Pod's name and a random part. */
  readonly processName: string;
  /** Prefix of the names of all processes of this Pod, and of no others; absent outside a Pod. */
  readonly pod?: string | undefined;
  readonly metrics: RuntimeMetrics;
  readonly rentalMetrics: RentalMetrics;
  /** Transport to the API server for the lease alone; without one, the lease shares the other connections. */
  readonly leaseTransport?: Transport;
  /** Opens a login of a market by its name; {@link openMarket} by default. */
  readonly openMarket?: typeof openMarket;
  /** Probes machines. */
  readonly prober: Prober;
  /** Without it no lease is renewed. */
  readonly runSsh?: SshRunner;
  /** Transport to the workers of groups; without one, their load is not read. */
  readonly workerTransport?: Transport;
  /** Transport to Prometheus, whose certificate it verifies; without one, it is not queried. */
  readonly prometheusTransport?: Transport;
  /** Rejects on CRDs that are older than this operator, before it leads. */
  readonly checksDefinitions?: boolean;
}

/** Dependencies that the controllers share. */
export interface Wiring extends OperatorOptions {
  readonly kube: KubeClient;
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly constants: PurchaseConstants;
  /** Clock that dates lists. The controller of GpuInstances notes each list on it. */
  readonly steady: SteadyClock;
  readonly connections: LoginConnections;
  readonly installation: Installation;
  readonly registry: AccountRegistry;
  readonly objects: InstanceSummaries;
  readonly ledger: LedgerKeeper;
  readonly budgets: NamespaceBudgets;
  readonly election: LeaderElection | undefined;
}

/** The lease for which replicas compete. */
export const LEASE_NAME = OPERATOR_NAME;

/** Builds the shared dependencies. Starts nothing. */
export function wire(options: OperatorOptions): Wiring {
  const { config, env, metrics } = options;
  const { clock, random, log } = env;
  const kube = kubeClient(options);
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
  const constants: PurchaseConstants = {
    ...defaultConstants,
    lateCallMs: config.lateCall,
    listLagMs: config.listLag,
    goneSpacingMs: config.goneSpacing,
    orphanAgeMs: config.orphanAge,
    lateOrphanAgeMs: config.lateOrphanAge,
  };
  const paced = config.pacing === 'documented';
  const connections = new LoginConnections({
    ...{ transport: env.marketplace, clock, random, log, paced },
    openMarket: options.openMarket ?? openMarket,
  });
  const ledger = new LedgerKeeper({
    client: kube,
    namespace: config.namespace,
    instances: caches.instances,
    labels: config.ledgerLabels,
    months: config.ledgerMonths,
    clock,
    spendingTime: (account) => wiring.registry.spendingTime(account),
    log,
  });
  const steady = new SteadyClock(clock);
  const shared = { ...options, kube, caches, events, constants, steady, connections, ledger };
  const wiring: Wiring = { ...shared, ...accounts(shared), election: electionOf(options, events) };
  return wiring;
}

function kubeClient(
  { env, kubeOrigin, credentials, metrics }: OperatorOptions,
  transport: Transport = env.kube,
): KubeClient {
  const { clock, random, log } = env;
  return createKubeClient({
    transport,
    origin: kubeOrigin,
    credentials,
    codec: statusCodec,
    userAgent: OPERATOR_NAME,
    clock,
    random,
    log,
    metrics,
  });
}

type Unaccounted = Omit<Wiring, 'installation' | 'registry' | 'objects' | 'budgets' | 'election'>;

function accounts(wiring: Unaccounted): Pick<Wiring, 'installation' | 'registry' | 'objects' | 'budgets'> {
  const { config, env, kube, caches, connections, constants } = wiring;
  const { clock, random, log } = env;
  const installation = new Installation({
    client: kube,
    namespace: config.namespace,
    scope: scopeOf(config.watchNamespace),
    random,
    log,
    traces: async () => {
      const known = rentalTraces(caches.instances.list(), caches.accounts.list(), registry);
      if (known.objectsWithRentals + known.ownMachines + known.unlisted > 0) return known;
      // The caches may be behind; only a fresh read proves that this cluster rented nothing.
      const instances = await listAll(wiring, KEPT.instances);
      const marketplaceAccounts = await listAll(wiring, KEPT.accounts);
      return rentalTraces(instances, marketplaceAccounts, registry);
    },
  });
  const keys = () => installation.identity()?.keys;
  const objects = new InstanceSummaries({
    instances: caches.instances,
    timeOf: (account) => registry.spendingTime(account),
    keys,
  });
  const spendingClock = { now: () => registry.spendingTime() };
  const budgets = new NamespaceBudgets({
    clock: spendingClock,
    settings: config,
    budgets: (namespace) => caches.budgets.byIndex(BY_NAMESPACE, namespace),
    objects: objectsByNamespace(objects),
    admissions: () => registry.proven().map(({ admission }) => admission),
    monthCost: monthCosts({ ...wiring, spendingClock }),
  });
  const labels = new NamespaceLabels({ client: kube, clock, log, onChange: () => registry.notifyAll() });
  const { watchNamespace } = config;
  const namespaced = watchNamespace.length > 0;
  const labelsOf = (namespace: string) => labels.labelsOf(namespace);
  const registry: AccountRegistry = new AccountRegistry({
    client: kube,
    clock,
    connections,
    installation,
    constants,
    brake: config,
    budgets,
    minPollIntervalMs: config.minPollInterval,
    follow: (ref) => objects.follow(ref),
    allObjects: () => objects.all(),
    isWatched: (namespace) => !namespaced || watchNamespace.includes(namespace),
    accounts: () => caches.accounts.list(),
    accountOf: (ref) => caches.accounts.get(accountKey(ref)),
    namespaceAllowed: (account, namespace) =>
      isNamespaceAllowed(account, namespace, { namespaced, labelsOf }),
    onWritten: (account) => caches.accounts.wrote(account),
  });
  return { installation, registry, objects, budgets };
}

/** Maximum age of the costs of a month, which change by themselves. */
const COSTS_KEPT_MS = 10_000;

/**
 * Returns the cost of a namespace in the UTC month, with deleted objects: by the ledger or, until it was read, as its
 * budgets show it.
 */
function monthCosts({
  env: { clock },
  spendingClock,
  caches,
  ledger,
}: Pick<Unaccounted, 'env' | 'caches' | 'ledger'> & {
  readonly spendingClock: Pick<Clock, 'now'>;
}): (namespace: string) => MicroDollars {
  let costs: ReadonlyMap<string, MicroDollars> = new Map();
  let madeAt = Number.NEGATIVE_INFINITY;
  return (namespace) => {
    const view = ledger.view();
    const now = spendingClock.now();
    if (!view) return shownMonthCost(caches.budgets.byIndex(BY_NAMESPACE, namespace), now);
    if (clock.monotonic() - madeAt >= COSTS_KEPT_MS) {
      costs = monthCostByNamespace({ ...view, instances: caches.instances.list(), now });
      madeAt = clock.monotonic();
    }
    return costs.get(namespace) ?? 0;
  };
}

/** Returns the objects of namespaces: each one is followed from its first use on. */
function objectsByNamespace(objects: InstanceSummaries) {
  const followed = new Map<string, FollowedObjects>();
  return (namespace: string) => {
    const known = followed.get(namespace) ?? objects.followNamespace(namespace);
    followed.set(namespace, known);
    return known.counted(COUNT_ALL);
  };
}

/**
 * Lists all objects of a kind in the watched scope from the API server, so that every write that was answered before is
 * included. Rejects with a KubeError.
 */
export async function listAll<T extends KubeObject>(
  { kube, config }: Pick<Wiring, 'kube' | 'config'>,
  { resource, keep }: KeptKind<T>,
): Promise<readonly T[]> {
  const scopes = config.watchNamespace.length === 0 ? [undefined] : config.watchNamespace;
  const lists = await Promise.all(scopes.map((namespace) => kube.list<T>(resource, { namespace, keep })));
  return lists.flatMap(({ items }) => items);
}

function electionOf(options: OperatorOptions, events: EventRecorder): LeaderElection | undefined {
  const { config, env, metrics, processName, pod, leaseTransport } = options;
  if (!config.leaderElect) return undefined;
  return createLeaderElection({
    client: kubeClient(options, leaseTransport),
    lease: { namespace: config.namespace, name: LEASE_NAME },
    identity: processName,
    // A container is restarted only after its former process has ended.
    hasEnded: (holder) => pod !== undefined && holder.startsWith(`${pod}_`),
    leaseDurationMs: config.leaderElectLeaseDuration,
    renewDeadlineMs: config.leaderElectRenewDeadline,
    retryPeriodMs: config.leaderElectRetryPeriod,
    clock: env.clock,
    random: env.random,
    log: env.log,
    metrics,
    events,
  });
}
