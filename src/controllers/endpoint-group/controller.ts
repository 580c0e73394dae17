import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Env } from '../../lib/env.ts';
import {
  type Controller,
  type ReconcileContext,
  type Result,
  requeueAfter,
} from '../../runtime/controller.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import { objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { ControllerMetrics, QueueMetrics } from '../../runtime/metrics-ports.ts';
import { createObjectController } from '../../runtime/object-controller.ts';
import { OwnedObjects, ownerKeysOf } from '../../runtime/owned-objects.ts';
import type { SharedDeps } from './deps.ts';
import { Memories } from './memory.ts';
import { reconcile } from './reconcile.ts';
import { OWNED_BY_GROUP } from './workers/worker.ts';

export interface EndpointGroupControllerOptions extends Omit<SharedDeps, 'clock' | 'children'> {
  readonly env: Pick<Env, 'clock' | 'random' | 'log'>;
  readonly instances: Informer<GpuInstance>;
  readonly events: EventRecorder;
  readonly workers?: number | undefined;
  readonly metrics?: (ControllerMetrics & QueueMetrics) | undefined;
}

/** Controller that also accepts immediate requests for a worker. */
export interface EndpointGroupController extends Controller {
  wake(group: EndpointGroup): void;
}

const NOT_LEADING_RETRY_MS = 1_000;

/** Creates the controller that scales the workers of each group with its load and publishes ready workers. */
export function createEndpointGroupController(
  options: EndpointGroupControllerOptions,
): EndpointGroupController {
  const { env, groups, instances } = options;
  const loop = new GroupLoop(options, (key) => controller.enqueue(key));
  const controller = createObjectController<EndpointGroup>({
    ...{ clock: env.clock, random: env.random, log: env.log },
    name: 'endpointgroup',
    workers: options.workers,
    metrics: options.metrics,
    informer: groups,
    client: options.cluster,
    resource: endpointGroupResource,
    reconcile: (group, context) => loop.reconcile(group, context),
    onDeleted: (group) => loop.deleted(group),
  });
  instances.onChange(({ object }) => loop.onWorkerEvent(object));
  return { ...controller, wake: (group) => loop.wake(group) };
}

/** State that reconciles share: memory, the workers of groups, and the mapping from events to enqueued groups. */
class GroupLoop {
  readonly #shared: SharedDeps;
  readonly #events: EventRecorder;
  readonly #enqueue: (key: string) => void;
  readonly #memories: Memories;

  constructor(options: EndpointGroupControllerOptions, enqueue: (key: string) => void) {
    const { env, instances, events, ...deps } = options;
    const { clock } = env;
    const { cluster: client, loadStore } = deps;
    this.#events = events;
    this.#enqueue = enqueue;
    this.#memories = new Memories({ cluster: client, clock, loadStore });
    this.#shared = {
      ...deps,
      clock,
      children: new OwnedObjects({
        ...{ informer: instances, client, clock },
        ...{ resource: gpuInstanceResource, by: OWNED_BY_GROUP },
      }),
    };
  }

  deleted(group: EndpointGroup): void {
    const { loadStore, identities, outlook, children } = this.#shared;
    const uid = uidOf(group);
    this.#memories.forget(uid);
    loadStore.forget(uid);
    identities.forget(uid);
    outlook.forget(uid);
    children.forget(uid);
  }

  onWorkerEvent(worker: GpuInstance): void {
    for (const key of ownerKeysOf(worker, OWNED_BY_GROUP))
      if (this.#shared.groups.get(key)) this.#enqueue(key);
  }

  /** Requests a worker. With a hot worker the request only counts as activity, so a flood of wakes costs no reconcile. */
  wake(group: EndpointGroup): void {
    const memory = this.#memories.of(group);
    const { loadStore, clock } = this.#shared;
    loadStore.active(uidOf(group), clock.now());
    if ((memory.fields?.decision?.hot ?? 0) > 0) return;
    memory.wake.ask();
    this.#enqueue(objectKey(group.metadata));
  }

  async reconcile(group: EndpointGroup, { log, aside }: ReconcileContext): Promise<Result> {
    if (!this.#shared.isLeading()) return requeueAfter(NOT_LEADING_RETRY_MS);
    return reconcile(group, {
      ...this.#shared,
      ...{ log, aside, memory: this.#memories.of(group) },
      enqueue: () => this.#enqueue(objectKey(group.metadata)),
      showEvent: (note) => this.#events.record({ regarding: group, ...note }),
    });
  }
}
