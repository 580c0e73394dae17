import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import {
  annotations,
  endpointGroupResource,
  gpuInstanceResource,
  labels,
} from '../../src/api/v1alpha1/names.ts';
import type { Random } from '../../src/lib/random.ts';
import { isKubeError } from '../../src/runtime/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../src/runtime/kube/kube-object.ts';
import type { OperatorBench } from '../builders/running-operator.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { createGroup, GROUP_NAMES, type GroupName, imageOf, MAX_WORKERS } from './groups.ts';
import type { OperatorProcess } from './operator-process.ts';
import type { WorkerReports } from './worker-reports.ts';

/** Instances of their own, of no group. */
export const INSTANCE_NAMES = Array.from({ length: 10 }, (_, index) => `w${index}`);

/** People change and recreate it more often than the usual brake lets it rent within an hour. */
export const INSTANCE = { replacement: { maxPerHour: 100 } } as const;

const PAUSE_MS = { least: 200, more: 900 };
const FREEZE_MS = 15_000;
/** For none to three workers. */
const LOADS = [0, 30, 130, 230];

const FAULTS = [
  'reset-after',
  'reset-before',
  '5xx',
  '5xx-with-effect',
  'error-with-effect',
  '429-text',
  'success-false-with-effect',
  'offer-gone',
  'delete-ignored',
  'truncated-list',
] as const;

/** Relative frequency of each act: between two kills there must be time to lead and to rent. */
const WEIGHTS = {
  kill: 2,
  freeze: 2,
  cut: 2,
  marketplace: 7,
  deleteOrCreate: 8,
  image: 5,
  power: 5,
  deleteGroup: 1,
  load: 10,
  template: 2,
  wake: 2,
  worker: 2,
} as const;
type Act = keyof typeof WEIGHTS;
const DRAWN_FROM = (Object.keys(WEIGHTS) as Act[]).flatMap((act) => Array<Act>(WEIGHTS[act]).fill(act));

export interface StormOptions {
  readonly random: Random;
  readonly bench: OperatorBench;
  readonly proxy: FaultProxy;
  readonly processes: readonly OperatorProcess[];
  readonly reports: WorkerReports;
}

/** Random acts of people, networks, machines and load, one at a time. */
export class Storm {
  readonly #options: StormOptions;
  readonly counts = new Map<string, number>();

  constructor(options: StormOptions) {
    this.#options = options;
  }

  async strike(): Promise<void> {
    const { bench, proxy, processes } = this.#options;
    const acts: Readonly<Record<Act, () => Promise<void>>> = {
      kill: async () => this.#anyOf(processes).kill(),
      freeze: async () => this.#freeze(this.#anyOf(processes)),
      cut: async () => proxy.cut(),
      marketplace: () => bench.fault(this.#anyOf(FAULTS)),
      deleteOrCreate: () => this.#deleteOrCreate(this.#anyOf(INSTANCE_NAMES)),
      image: () => this.#editInstance({ image: `example/image:${this.#version()}` }),
      power: () => this.#editInstance({ powerState: this.#anyOf(['Running', 'Running', 'Stopped']) }),
      deleteGroup: () => this.#delete(endpointGroupResource, this.#anyOf(GROUP_NAMES)),
      load: () => this.#load(this.#anyOf(GROUP_NAMES)),
      template: () => this.#newTemplate(this.#anyOf(GROUP_NAMES)),
      wake: () => this.#wake(this.#anyOf(GROUP_NAMES)),
      worker: () => this.#handleWorker(),
    };
    const act = this.#anyOf(DRAWN_FROM);
    this.counts.set(act, (this.counts.get(act) ?? 0) + 1);
    await acts[act]();
  }

  pause(): Promise<void> {
    return pause(PAUSE_MS.least + this.#options.random.next() * PAUSE_MS.more);
  }

  #anyOf<T>(options: readonly T[]): T {
    // The index is below the length, and undefined may be an option.
    return options[Math.floor(this.#options.random.next() * options.length)] as T;
  }

  #version(): number {
    return Math.ceil(this.#options.random.next() * 3);
  }

  #freeze(frozen: OperatorProcess): void {
    frozen.freeze();
    void pause(this.#options.random.next() * FREEZE_MS).then(() => frozen.thaw());
  }

  async #deleteOrCreate(name: string): Promise<void> {
    const { bench } = this.#options;
    if (await bench.instance(name)) await this.#delete(gpuInstanceResource, name);
    else await bench.createInstance(name, INSTANCE);
  }

  #editInstance(spec: Record<string, unknown>): Promise<void> {
    return this.#patch(gpuInstanceResource, this.#anyOf(INSTANCE_NAMES), { spec });
  }

  /** Sets another load for a group; creates the group again if it is gone. */
  async #load(group: GroupName): Promise<void> {
    const { bench, random, reports } = this.#options;
    if ((await this.#group(group)) === undefined) await createGroup(bench, group);
    const load = this.#anyOf(LOADS);
    switch (group) {
      case 'written':
        return this.#patch(endpointGroupResource, group, {
          spec: { load: { static: { load: String(load) } } },
        });
      case 'counted':
        return this.#scale(group, Math.floor(random.next() * (MAX_WORKERS + 1)));
      case 'reported':
        reports.offered = load;
    }
  }

  /** Scales as `kubectl scale` and autoscalers do. */
  #scale(group: GroupName, replicas: number): Promise<void> {
    return this.#patch(endpointGroupResource, group, { spec: { replicas } }, 'scale');
  }

  #newTemplate(group: GroupName): Promise<void> {
    const template = { spec: { image: imageOf(group, this.#version()) } };
    return this.#patch(endpointGroupResource, group, { spec: { template } });
  }

  #wake(group: GroupName): Promise<void> {
    const noted = { [annotations.wakeAt]: String(performance.now()) };
    return this.#patch(endpointGroupResource, group, { metadata: { annotations: noted } });
  }

  /** Deletes a worker, or marks it as the first to remove. */
  async #handleWorker(): Promise<void> {
    const { bench } = this.#options;
    const { items } = await bench.kube.list<GpuInstance & KubeObject>(gpuInstanceResource, {
      namespace: bench.namespace,
      labelSelector: labels.endpointGroup,
    });
    if (items.length === 0) return;
    const { name } = this.#anyOf(items).metadata;
    if (this.#anyOf([true, false])) return this.#delete(gpuInstanceResource, name);
    const noted = { [annotations.dropFirst]: 'true' };
    return this.#patch(gpuInstanceResource, name, { metadata: { annotations: noted } });
  }

  #group(name: GroupName): Promise<EndpointGroup | undefined> {
    const { kube, namespace } = this.#options.bench;
    return kube.get<EndpointGroup & KubeObject>(endpointGroupResource, { namespace, name });
  }

  async #delete(resource: Resource, name: string): Promise<void> {
    const { kube, namespace } = this.#options.bench;
    await kube.delete(resource, { namespace, name });
  }

  /** Patches an object, unless it is deleted or being deleted. */
  async #patch(
    resource: Resource,
    name: string,
    body: Record<string, unknown>,
    subresource?: 'scale',
  ): Promise<void> {
    const { kube, namespace } = this.#options.bench;
    const ref = { namespace, name };
    const object = await kube.get(resource, ref);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    try {
      await kube.patch(resource, ref, { type: 'merge', body, ...(subresource && { subresource }) });
    } catch (error) {
      if (!isKubeError(error, 'notFound')) throw error;
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
