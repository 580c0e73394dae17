import { sessionOf } from '../../accounts/registry.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import type { Env } from '../../lib/env.ts';
import type { Controller, Result } from '../../runtime/controller.ts';
import { AccessReviews } from '../../runtime/kube/access-review.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import { createObjectController, type ObjectContext } from '../../runtime/object-controller.ts';
import {
  type Deps,
  type GpuInstanceMetrics,
  type ObjectDeps,
  type SharedDeps,
  silentInstanceMetrics,
} from './deps.ts';
import { MachineIndex, Memories, SteadyClock } from './memory.ts';
import { type CallerOf, type Prober, ProbeSchedules } from './probe.ts';
import { reconcile } from './reconcile.ts';
import { Watches } from './watches.ts';

export interface GpuInstanceControllerOptions
  extends Pick<
    SharedDeps,
    | 'cluster'
    | 'instances'
    | 'accounts'
    | 'identity'
    | 'constants'
    | 'events'
    | 'allowPrivateAddresses'
    | 'issueIdentity'
  > {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly lease: { leaseRemainingMs(): number };
  /** Asks a machine whether it serves; maps addresses where a map is configured. */
  readonly prober: Prober;
  /** TLS identity that probes present to a worker of a gateway. */
  readonly callerOf?: CallerOf | undefined;
  readonly workers?: number;
  readonly metrics?: ControllerMetrics & QueueMetrics;
  readonly instanceMetrics?: GpuInstanceMetrics;
}

/**
 * Priorities among waiting objects, after the deleted ones. First come objects that the rental queue called, which hold
 * an answer or a slot. Then objects without a machine, since nothing boots before it is rented. Then objects with news
 * of their machine, ends included; each eighth turn is reserved for them.
 */
const PRIORITY = { called: 2, wantsMachine: 1, other: 0 } as const;

const priorityOf = ({ spec, status }: GpuInstance): number =>
  status?.instanceId === undefined && spec.powerState !== 'Stopped' ? PRIORITY.wantsMachine : PRIORITY.other;

/**
 * Keeps one machine per GpuInstance as its spec says: found, rented, watched, replaced, destroyed. Level
 * triggered: a pass looks at the state now, and any pass may be the first after a crash.
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
  readonly #watches: Watches;

  constructor(options: GpuInstanceControllerOptions, enqueue: (key: string, priority?: number) => void) {
    const { env, instances, accounts, constants, cluster, identity, events, allowPrivateAddresses } = options;
    const { clock, random } = env;
    const steady = new SteadyClock(clock);
    this.#accounts = accounts;
    this.#enqueue = enqueue;
    this.#shared = {
      ...{ clock, steady, random, cluster, instances, accounts, constants, identity, events },
      leaseRemainingMs: () => options.lease.leaseRemainingMs(),
      reviews: new AccessReviews(cluster, clock),
      metrics: options.instanceMetrics ?? silentInstanceMetrics,
      index: new MachineIndex(constants),
      withoutStart: new Set(),
      allowPrivateAddresses,
      issueIdentity: options.issueIdentity,
    };
    this.#probes = new ProbeSchedules({
      clock,
      prober: options.prober,
      callerOf: options.callerOf,
      log: env.log,
      onChange: enqueue,
    });
    this.#watches = new Watches({
      accounts,
      instances,
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
  }

  deleted(object: GpuInstance): void {
    const uid = uidOf(object);
    this.#memories.forget(uid);
    for (const { queue } of this.#accounts.sessions()) queue.leave(uid);
  }

  gone(key: string): void {
    this.#probes.forget(key);
  }

  async reconcile(object: GpuInstance, context: ObjectContext<GpuInstance>): Promise<Result> {
    const { key, log, aside, readNow } = context;
    const memory = this.#memories.of(uidOf(object));
    memory.probe = this.#probes.view(key, object);
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
