import type { AccountDirectory } from '../../accounts/account-directory.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Env } from '../../lib/env.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { AccessReviews } from '../../runtime/access-review.ts';
import {
  type Controller,
  createController,
  done,
  type ReconcileContext,
  type Result,
  requeueAfter,
} from '../../runtime/controller.ts';
import { CurrentObjects } from '../../runtime/current-objects.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import type { Informer } from '../../runtime/informer.ts';
import type { KubeClient } from '../../runtime/kube-client.ts';
import { objectKey } from '../../runtime/kube-object.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import { MachineIndex } from './machine-index.ts';
import { Memories } from './memory.ts';
import { type GpuInstanceMetrics, silentInstanceMetrics } from './metrics.ts';
import type { Sources } from './observe.ts';
import { Pass } from './pass.ts';
import { type Prober, ProbeSchedules } from './probe.ts';
import { SteadyClock } from './steady-clock.ts';
import type { Look } from './types.ts';
import { Waking } from './waking.ts';

export interface GpuInstanceControllerOptions {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly cluster: KubeClient;
  readonly instances: Informer<GpuInstance>;
  readonly accounts: AccountDirectory;
  /** This installation's identity; undefined while it is not known. */
  readonly identity: () => Identity | undefined;
  readonly constants: PurchaseConstants;
  readonly lease: { leaseRemainingMs(): number };
  readonly events: EventRecorder;
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
  const { env, instances, accounts, constants } = options;
  const memories = new Memories();
  const withoutStart = new Set<string>();
  const steady = new SteadyClock(env.clock);
  const reviews = new AccessReviews(options.cluster, env.clock);
  const sources: Sources = {
    clock: env.clock,
    random: env.random,
    instances,
    accounts,
    constants,
    index: new MachineIndex(constants),
    steady,
    identity: options.identity,
    leaseRemainingMs: () => options.lease.leaseRemainingMs(),
    withoutStart,
  };
  const objects = new CurrentObjects<GpuInstance>({
    informer: instances,
    client: options.cluster,
    resource: gpuInstanceResource,
    clock: env.clock,
  });
  const reconcile = async (key: string, context: ReconcileContext): Promise<Result> => {
    const current = await objects.read(key);
    if (current.type === 'behind') return requeueAfter(current.afterMs);
    if (current.type === 'gone') {
      probes.forget(key);
      return done;
    }
    const { object } = current;
    const memory = memories.of(object.metadata.uid ?? '');
    memory.probe = probes.view(key, object);
    const look = await new Pass(object, {
      ...options,
      sources,
      memory,
      withoutStart,
      reviews,
      log: context.log,
      instanceMetrics: options.instanceMetrics ?? silentInstanceMetrics,
    }).run();
    return afterLook(key, object, look);
  };
  const afterLook = (key: string, object: GpuInstance, look: Look): Result => {
    if (look.lostRace) objects.lostRace(key);
    if (look.onList) waking.onNextList(key, object);
    return look.afterMs === undefined ? done : requeueAfter(look.afterMs);
  };
  const controller = createController({
    clock: env.clock,
    random: env.random,
    log: env.log,
    workers: options.workers,
    metrics: options.metrics,
    name: 'gpuinstance',
    reconcile,
  });
  const enqueue = (key: string) => {
    const deleting = instances.get(key)?.metadata.deletionTimestamp !== undefined;
    controller.queue.add(key, deleting ? DELETION_PRIORITY : 0);
  };
  const probes = new ProbeSchedules({ clock: env.clock, prober: options.prober, onChange: enqueue });
  const waking = new Waking({ accounts, instances, enqueue, steady });
  instances.onChange((change) => {
    enqueue(change.key);
    if (change.type === 'deleted') memories.forget(change.object.metadata.uid ?? '');
  });
  return {
    ...controller,
    start() {
      waking.start();
      for (const object of instances.list()) enqueue(objectKey(object.metadata));
      controller.start();
    },
    async stop(drainMs) {
      waking.stop();
      probes.stop();
      await controller.stop(drainMs);
    },
  };
}
