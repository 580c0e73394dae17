import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, labels } from '../../src/api/v1alpha1/names.ts';
import { type EndpointSliceObject, endpointSliceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import type { OperatorBench } from '../builders/running-operator.ts';
import { ownerOf, type Seen } from './agreement.ts';
import { MAX_WORKERS } from './groups.ts';

const EVERY_MS = 300;

/** Looks at ledger and cluster from beside the bad connection, and keeps count of workers that come and go. */
export class Onlooker {
  readonly #bench: OperatorBench;
  readonly #powers = new Map<string, string>();
  readonly #excesses = new Set<string>();
  #isClosed = false;
  /** Number of workers that were created, stopped, woken and deleted. */
  readonly counts = { workersMade: 0, workersStopped: 0, workersWoken: 0, workersGone: 0 };

  constructor(bench: OperatorBench) {
    this.#bench = bench;
  }

  /** Looks again and again until it is closed. */
  async watch(): Promise<void> {
    while (!this.#isClosed) {
      this.#note(await this.#instances());
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Groups that had more workers than they may have, a sentence each. */
  get excesses(): readonly string[] {
    return [...this.#excesses];
  }

  async read(reported: number): Promise<Seen> {
    const { kube, namespace } = this.#bench;
    const instances = await this.#instances();
    const groups = await kube.list<EndpointGroup & KubeObject>(endpointGroupResource, { namespace });
    const slices = await kube.list<EndpointSliceObject>(endpointSliceResource, {
      namespace,
      labelSelector: labels.endpointGroup,
    });
    const published = slices.items.flatMap((slice) => ownerOf(slice)?.uid ?? []);
    const billing = this.#bench.billing().map(({ id }) => String(id));
    return { billing, instances, groups: groups.items, published, reported };
  }

  async #instances(): Promise<readonly GpuInstance[]> {
    const { kube, namespace } = this.#bench;
    const { items } = await kube.list<GpuInstance & KubeObject>(gpuInstanceResource, { namespace });
    return items;
  }

  #note(instances: readonly GpuInstance[]): void {
    const workers = instances.filter((instance) => ownerOf(instance) !== undefined);
    const uids = new Set(workers.map(({ metadata }) => metadata.uid));
    for (const uid of this.#powers.keys()) {
      if (uids.has(uid)) continue;
      this.#powers.delete(uid);
      this.counts.workersGone += 1;
    }
    for (const worker of workers) this.#noteWorker(worker);
    const byGroup = Object.entries(Object.groupBy(workers, (worker) => ownerOf(worker)?.uid ?? ''));
    for (const [uid, all = []] of byGroup) {
      if (all.length <= MAX_WORKERS) continue;
      const names = all.map(({ metadata }) => metadata.name).join(', ');
      this.#excesses.add(`the group ${uid} may have ${MAX_WORKERS} workers and had ${names}`);
    }
  }

  #noteWorker({ metadata: { uid = '' }, spec: { powerState } }: GpuInstance): void {
    const before = this.#powers.get(uid);
    this.#powers.set(uid, powerState);
    if (before === undefined) this.counts.workersMade += 1;
    else if (before !== powerState)
      this.counts[powerState === 'Running' ? 'workersWoken' : 'workersStopped'] += 1;
  }
}
