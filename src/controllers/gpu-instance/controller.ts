import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Env } from '../../lib/env.ts';
import {
  type Controller,
  createController,
  done,
  type ReconcileContext,
  type Result,
  requeueAfter,
} from '../../runtime/controller.ts';
import { AccessReviews } from '../../runtime/kube/access-review.ts';
import { objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import { CurrentObjects } from '../../runtime/list-watch/current-objects.ts';
import type { Change } from '../../runtime/list-watch/informer.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import { depsOf, type GpuInstanceMetrics, type SharedDeps, silentInstanceMetrics } from './deps.ts';
import { MachineIndex, Memories, SteadyClock } from './memory.ts';
import { type Prober, ProbeSchedules } from './probe.ts';
import { reconcile } from './reconcile.ts';
import type { Requeue } from './types.ts';
import { Watches } from './watches.ts';

export interface GpuInstanceControllerOptions
  extends Pick<
    SharedDeps,
    'cluster' | 'instances' | 'accounts' | 'identity' | 'constants' | 'events' | 'allowPrivateAddresses'
  > {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly lease: { leaseRemainingMs(): number };
  /** Asks a machine whether it serves; maps addresses where a map is configured. */
  readonly prober: Prober;
  readonly workers?: number;
  readonly metrics?: ControllerMetrics & QueueMetrics;
  readonly instanceMetrics?: GpuInstanceMetrics;
}

/** What a deletion asks for comes before what is bought. */
const DELETION_PRIORITY = 10;

/**
 * Keeps one machine per GpuInstance as its spec says: found, rented, watched, replaced, destroyed. Level
 * triggered: a pass looks at the state now, and any pass may be the first after a crash.
 */
export function createGpuInstanceController(options: GpuInstanceControllerOptions): Controller {
  const { clock, random, log } = options.env;
  const { instances } = options;
  const loop = new InstanceLoop(options);
  const controller = createController({
    clock,
    random,
    log,
    workers: options.workers,
    metrics: options.metrics,
    name: 'gpuinstance',
    reconcile: (key, context) => loop.reconcile(key, context),
  });
  loop.enqueue = (key) => {
    if (!loop.isStarted) return;
    const deleting = instances.get(key)?.metadata.deletionTimestamp !== undefined;
    controller.queue.add(key, deleting ? DELETION_PRIORITY : 0);
  };
  instances.onChange((change) => loop.heard(change));
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

/** What passes share: memory, clocks, and who wakes whom. */
class InstanceLoop {
  /** Puts a key into the queue; set once the queue is there. */
  enqueue: (key: string) => void = () => {};
  /** A replica that waits for the lease keeps no keys: objects come and go, and it begins with all that are there then. */
  isStarted = false;
  readonly #options: GpuInstanceControllerOptions;
  readonly #memories = new Memories();
  readonly #shared: SharedDeps;
  readonly #objects: CurrentObjects<GpuInstance>;
  readonly #probes: ProbeSchedules;
  readonly #watches: Watches;

  constructor(options: GpuInstanceControllerOptions) {
    const { env, instances, accounts, constants, cluster, identity, events, allowPrivateAddresses } = options;
    const { clock, random } = env;
    const steady = new SteadyClock(clock);
    const enqueue = (key: string) => this.enqueue(key);
    this.#options = options;
    this.#shared = {
      ...{ clock, steady, random, cluster, instances, accounts, constants, identity, events },
      leaseRemainingMs: () => options.lease.leaseRemainingMs(),
      reviews: new AccessReviews(cluster, clock),
      metrics: options.instanceMetrics ?? silentInstanceMetrics,
      index: new MachineIndex(constants),
      withoutStart: new Set(),
      allowPrivateAddresses,
    };
    const resource = gpuInstanceResource;
    this.#objects = new CurrentObjects<GpuInstance>({
      informer: instances,
      client: cluster,
      resource,
      clock,
    });
    this.#probes = new ProbeSchedules({
      clock,
      prober: options.prober,
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
    this.isStarted = true;
    this.#watches.start();
    for (const object of this.#options.instances.list()) this.enqueue(objectKey(object.metadata));
  }

  stop(): void {
    this.#watches.stop();
    this.#probes.stop();
  }

  heard(change: Change<GpuInstance>): void {
    this.enqueue(change.key);
    if (change.type !== 'deleted') return;
    const uid = uidOf(change.object);
    this.#memories.forget(uid);
    for (const { queue } of this.#options.accounts.sessions()) queue.leave(uid);
  }

  async reconcile(key: string, { log, aside }: ReconcileContext): Promise<Result> {
    const current = await this.#objects.read(key);
    if (current.type === 'behind') return requeueAfter(current.afterMs);
    if (current.type === 'gone') {
      this.#probes.forget(key);
      return done;
    }
    const { object } = current;
    const memory = this.#memories.of(uidOf(object));
    memory.probe = this.#probes.view(key, object);
    const deps = depsOf(object, this.#shared, { memory, log, aside, wake: () => this.enqueue(key) });
    const requeue = await this.#objects.duringPass(key, () => reconcile(object, deps));
    return this.#resultOf(key, object, requeue);
  }

  #resultOf(key: string, object: GpuInstance, requeue: Requeue): Result {
    if (requeue.lostRace) this.#objects.lostRace(key);
    if (requeue.onList) this.#watches.onNextList(key, object);
    return requeue.afterMs === undefined ? done : requeueAfter(requeue.afterMs);
  }
}
