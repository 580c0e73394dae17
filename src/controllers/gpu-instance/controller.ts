import { sessionOf } from '../../accounts/registry.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import type { Env } from '../../lib/env.ts';
import type { Controller, Result } from '../../runtime/controller.ts';
import { AccessReviews } from '../../runtime/kube/access-review.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import { createObjectController, type ObjectContext } from '../../runtime/object-controller.ts';
import {
  type Deps,
  type GpuInstanceMetrics,
  type ObjectDeps,
  type SharedDeps,
  silentInstanceMetrics,
} from './deps.ts';
import { LeaseSchedules, type SshRunner } from './lease-renewal.ts';
import type { LeaseReports } from './lease-reports.ts';
import { MachineIndex, Memories } from './memory.ts';
import { type CallerOf, type Prober, ProbeSchedules } from './probe.ts';
import { reconcile } from './reconcile.ts';
import { type OnRunLog, RunCollections } from './run-collection.ts';
import { SelfEndChecks } from './self-end-check.ts';
import { Watches } from './watches.ts';

export interface GpuInstanceControllerOptions
  extends Pick<
    SharedDeps,
    | 'cluster'
    | 'instances'
    | 'accounts'
    | 'budgets'
    | 'identity'
    | 'constants'
    | 'steady'
    | 'events'
    | 'allowPrivateAddresses'
    | 'issueIdentity'
    | 'ledger'
    | 'reportUrl'
  > {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly spendBudgets: Pick<Informer<SpendBudget>, 'onChange'>;
  readonly lease: { leaseRemainingMs(): number };
  /** Calls a machine to find out whether it serves; maps addresses if a map is configured. */
  readonly prober: Prober;
  /** Runs commands on machines by SSH; without it no lease is renewed. */
  readonly runSsh?: SshRunner | undefined;
  /** Answers machines that request the renewals of their leases; without it no such lease is renewed. */
  readonly leaseReports?: LeaseReports | undefined;
  /** Receives the log of a run with its result. */
  readonly onRunLog?: OnRunLog | undefined;
  /** TLS identity that probes present to a worker of a gateway. */
  readonly callerOf?: CallerOf | undefined;
  readonly workers?: number;
  readonly metrics?: ControllerMetrics & QueueMetrics;
  readonly instanceMetrics?: GpuInstanceMetrics;
}

/**
 * Priorities among waiting objects, after deleted ones. First come objects that the rental queue called, which have
 * an answer or a slot. Then come objects without a machine, since a machine must be rented before it can boot. Then
 * come objects with changes of their machine, ends included; each eighth turn is reserved for them.
 */
const PRIORITY = { called: 2, wantsMachine: 1, other: 0 } as const;

const priorityOf = ({ spec, status }: GpuInstance): number =>
  status?.instanceId === undefined && spec.powerState !== 'Stopped' ? PRIORITY.wantsMachine : PRIORITY.other;

/**
 * Keeps one machine per GpuInstance as its spec requires: finds, rents, watches, replaces and destroys it. Level
 * triggered: each reconcile reads the present state, and any reconcile may be the first after a crash.
 */
export function createGpuInstanceController(options: GpuInstanceControllerOptions): Controller {
  const { clock, random, log } = options.env;
  const loop = new InstanceLoop(options, (key, priority) => controller.enqueue(key, priority));
  const controller = createObjectController<GpuInstance>({
    ...{ clock, random, log, workers: options.workers, metrics: options.metrics },
    name: 'gpuinstance',
    informer: options.instances,
    client: options.cluster,
    resource: gpuInstanceResource,
    priorityOf,
    reconcile: (object, context) => loop.reconcile(object, context),
    onGone: (key) => loop.gone(key),
    onDeleted: (object) => loop.deleted(object),
  });
  return {
    ...controller,
    start() {
      loop.start();
      controller.start();
    },
    async stop(drainMs) {
      loop.stop();
      await controller.stop(drainMs);
    },
  };
}

/** State that reconciles share: memory, clocks, and the mapping from events to enqueued objects. */
class InstanceLoop {
  readonly #accounts: SharedDeps['accounts'];
  readonly #enqueue: (key: string, priority?: number) => void;
  readonly #memories = new Memories();
  readonly #shared: SharedDeps;
  readonly #probes: ProbeSchedules;
  readonly #leases: LeaseSchedules;
  readonly #leaseReports: LeaseReports | undefined;
  readonly #selfEnds: SelfEndChecks;
  readonly #results: RunCollections;
  readonly #watches: Watches;

  constructor(options: GpuInstanceControllerOptions, enqueue: (key: string, priority?: number) => void) {
    const { env, instances, accounts, budgets, constants, cluster, identity, events } = options;
    const { allowPrivateAddresses, ledger, steady } = options;
    const { clock, random } = env;
    this.#accounts = accounts;
    this.#enqueue = enqueue;
    this.#shared = {
      ...{
        clock,
        steady,
        random,
        cluster,
        instances,
        accounts,
        budgets,
        constants,
        identity,
        events,
        ledger,
      },
      leaseRemainingMs: () => options.lease.leaseRemainingMs(),
      reviews: new AccessReviews(cluster, clock),
      metrics: options.instanceMetrics ?? silentInstanceMetrics,
      index: new MachineIndex(constants),
      withoutStart: new Set(),
      allowPrivateAddresses,
      issueIdentity: options.issueIdentity,
      reportUrl: options.reportUrl,
    };
    this.#probes = new ProbeSchedules({
      clock,
      prober: options.prober,
      callerOf: options.callerOf,
      log: env.log,
      onChange: enqueue,
    });
    const accountOf = (object: GpuInstance) => sessionOf(accounts.get(accountRefOf(object)));
    this.#leases = new LeaseSchedules({
      ...{ clock, random, identity },
      log: env.log,
      runSsh: options.runSsh,
      sessionOf: accountOf,
      onChange: enqueue,
    });
    this.#leaseReports = options.leaseReports;
    this.#leaseReports?.listen(enqueue);
    this.#selfEnds = new SelfEndChecks({
      ...{ clock, log: env.log, onChange: enqueue },
      marketOf: (object) => accountOf(object)?.market,
    });
    this.#results = new RunCollections({
      ...{ clock, cluster, identity, log: env.log, onChange: enqueue, onLog: options.onRunLog },
      marketOf: (object) => accountOf(object)?.market,
      instances: () => instances.list(),
    });
    this.#watches = new Watches({
      accounts,
      instances,
      spendBudgets: options.spendBudgets,
      enqueue,
      steady,
      onAccountChange: ({ metadata }) => this.#memories.accountChanged(metadata.uid ?? ''),
    });
  }

  start(): void {
    this.#watches.start();
  }

  stop(): void {
    this.#watches.stop();
    this.#probes.stop();
    this.#leases.stop();
    this.#leaseReports?.stop();
    this.#selfEnds.stop();
    this.#results.stop();
  }

  deleted(object: GpuInstance): void {
    const uid = uidOf(object);
    this.#memories.forget(uid);
    for (const { queue } of this.#accounts.sessions()) queue.leave(uid);
  }

  gone(key: string): void {
    this.#probes.forget(key);
    this.#leases.forget(key);
    this.#leaseReports?.forget(key);
    this.#selfEnds.forget(key);
    this.#results.forget(key);
  }

  async reconcile(object: GpuInstance, context: ObjectContext<GpuInstance>): Promise<Result> {
    const { key, log, aside, readNow } = context;
    const memory = this.#memories.of(uidOf(object));
    memory.probe = this.#probes.view(key, object);
    memory.lease = this.#leaseReports?.view(key, object) ?? this.#leases.view(key, object);
    memory.selfEnd = this.#selfEnds.view(key, object);
    memory.runResult = this.#results.view(key, object);
    const wake = () => this.#enqueue(key, PRIORITY.called);
    const onNextList = () => this.#watches.onNextList(key, object);
    return reconcile(object, depsOf(object, this.#shared, { memory, log, aside, readNow, wake, onNextList }));
  }
}

/**
 * Returns the dependencies of one reconcile of `object`, with the session and the status writer of the account that it
 * names now.
 */
export function depsOf(object: GpuInstance, shared: SharedDeps, own: ObjectDeps): Deps {
  const { accounts, instances, events } = shared;
  const ref = accountRefOf(object);
  return {
    ...shared,
    ...own,
    session: sessionOf(accounts.get(ref)),
    statusWriter: accounts.statusWriter(ref),
    wrote: (written) => instances.wrote(written),
    showEvent: (note) => events.record({ regarding: object, ...note }),
  };
}
