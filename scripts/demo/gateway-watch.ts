import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import {
  annotations,
  endpointGroupResource,
  gpuInstanceResource,
  labels,
} from '../../src/api/v1alpha1/names.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { type EndpointSliceObject, endpointSliceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject, Resource } from '../../src/runtime/kube/kube-object.ts';
import { createInformer, type Informer } from '../../src/runtime/list-watch/informer.ts';
import { DEMO_NAMESPACE } from './stage.ts';

type Group = EndpointGroup & KubeObject;

/** Notes how often a group is woken, and when its first worker is ready: by watches, in `performance.now()`. */
export class GatewayWatch {
  readonly #wakes = new Set<string>();
  readonly #informers: readonly Informer<KubeObject>[];
  #group: Group | undefined;
  #readyAt: number | undefined;

  constructor(client: KubeClient, name: string) {
    const labelSelector = `${labels.endpointGroup}=${name}`;
    const follow = (
      resource: Resource,
      onChange: (object: KubeObject, isGone: boolean) => void,
    ): Informer<KubeObject> => {
      const shared = { client, clock: systemClock, random: systemRandom, log: silentLogger };
      const informer = createInformer<KubeObject>({
        ...{ ...shared, resource, namespace: DEMO_NAMESPACE },
        ...(resource !== endpointGroupResource && { labelSelector }),
      });
      informer.onChange(({ object, type }) => onChange(object, type === 'deleted'));
      informer.start();
      return informer;
    };
    this.#informers = [
      follow(endpointGroupResource, (object, isGone) => this.#sawGroup(object as Group, isGone)),
      follow(gpuInstanceResource, (object) => this.#sawWorker(object as GpuInstance & KubeObject)),
      follow(endpointSliceResource, (object) => this.#sawSlice(object as EndpointSliceObject)),
    ];
  }

  /** Undefined before it is there, and when it is gone. */
  get group(): Group | undefined {
    return this.#group;
  }

  /** Number of changes of the annotation that wakes groups. */
  get wakes(): number {
    return this.#wakes.size;
  }

  /** When a worker was first seen to be ready, in its own status or in its EndpointSlice. */
  get readyAt(): number | undefined {
    return this.#readyAt;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  #sawGroup(group: Group, isGone: boolean): void {
    this.#group = isGone ? undefined : group;
    const at = group.metadata.annotations?.[annotations.wakeAt];
    if (at !== undefined) this.#wakes.add(at);
  }

  #sawWorker({ status }: GpuInstance): void {
    if (status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'))
      this.#readyAt ??= performance.now();
  }

  #sawSlice({ endpoints }: EndpointSliceObject): void {
    if (endpoints?.some(({ conditions }) => conditions?.ready === true)) this.#readyAt ??= performance.now();
  }
}
