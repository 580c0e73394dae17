import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { type KubeObject, refOf } from '../../../runtime/kube/kube-object.ts';
import type { Published } from '../types.ts';
import type { Worker } from '../workers/worker.ts';
import { type Endpoint, endpointNameOf } from './endpoints.ts';
import {
  type EndpointSliceObject,
  endpointSliceResource,
  groupService,
  isGroupService,
  type ServiceObject,
  samePorts,
  serviceResource,
  sharedOwner,
  sliceName,
  workerSlice,
} from './service.ts';

/** Somebody may have changed what was written: it is looked at again after this time. */
const LOOK_AGAIN_MS = 600_000;
/** A Service whose name someone else holds is tried again after this time. */
const TRY_AGAIN_MS = 15_000;

interface Written {
  readonly text: string;
  readonly at: number;
}

export interface PublisherOptions {
  readonly cluster: KubeClient;
  readonly clock: Clock;
}

export interface Publication {
  readonly group: EndpointGroup;
  readonly workers: readonly Worker[];
  readonly endpoints: readonly Endpoint[];
}

/**
 * Writes the Service of one group and a slice for each ready worker, and takes slices back. What it has written it
 * remembers, so that a steady group costs no request but a look every ten minutes.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #startedAt: number;
  /** By name of the worker; an empty text: there is none. */
  readonly #slices = new Map<string, Written>();
  /** Names of Services that the group had before its `endpointName` was changed, as far as its status told. */
  readonly #former = new Set<string>();
  #last: Published = { type: 'done' };
  #service: (Written & { readonly published: Published }) | undefined;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** How it went last time. */
  published(): Published {
    return this.#last;
  }

  /**
   * Publishes first, so that the Service is never empty while one worker relieves another, and takes back whatever
   * came of that. Rejects where the API server does not answer; doing it again is harmless.
   */
  async publish(publication: Publication): Promise<Published> {
    this.#last = await this.#write(publication);
    return this.#last;
  }

  async #write({ group, workers, endpoints }: Publication): Promise<Published> {
    const wanted = new Set(endpoints.map(({ worker }) => worker.metadata.name));
    const leaving = workers.filter((worker) => !wanted.has(worker.name));
    this.#noteFormer(group);
    try {
      const published = await this.#give(group, endpoints);
      if (published.type === 'done') await this.#leaveFormer(group);
      return published;
    } finally {
      await Promise.all(leaving.map((worker) => this.#takeBack(worker)));
      this.#forgetOthers(workers);
    }
  }

  async #give(group: EndpointGroup, endpoints: readonly Endpoint[]): Promise<Published> {
    const published = await this.#ensureService(group);
    if (published.type !== 'done') return published;
    const problems = await Promise.all(endpoints.map((endpoint) => this.#ensureSlice(group, endpoint)));
    return problems.find((problem) => problem !== undefined) ?? published;
  }

  /** Gives up the group's part in the Service; the last group takes it away. */
  async withdraw(group: EndpointGroup): Promise<void> {
    this.#noteFormer(group);
    await this.#leaveFormer(group);
    await this.#leave(group, endpointNameOf(group));
  }

  #noteFormer(group: EndpointGroup): void {
    const [recorded] = group.status?.endpoint?.split('.') ?? [];
    if (recorded !== undefined) this.#former.add(recorded);
    this.#former.delete(endpointNameOf(group));
  }

  async #leaveFormer(group: EndpointGroup): Promise<void> {
    for (const name of this.#former) {
      await this.#leave(group, name);
      this.#former.delete(name);
    }
  }

  async #leave(group: EndpointGroup, name: string): Promise<void> {
    const { cluster } = this.#options;
    const ref = { namespace: group.metadata.namespace, name };
    const present = await cluster.get<ServiceObject>(serviceResource, ref);
    const owners = present?.metadata.ownerReferences ?? [];
    if (!present || !owners.some(({ uid }) => uid === group.metadata.uid)) return;
    const others = owners.filter(({ uid }) => uid !== group.metadata.uid);
    const { uid, resourceVersion } = present.metadata;
    if (others.length === 0) {
      await cluster.delete(serviceResource, ref, { uid, resourceVersion });
      return;
    }
    const body = { metadata: { resourceVersion, ownerReferences: others } };
    await cluster.patch(serviceResource, ref, { type: 'merge', body });
  }

  async #takeBack(worker: Worker): Promise<void> {
    const known = this.#slices.get(worker.name);
    const isNew = worker.createdAt >= this.#startedAt;
    if (known?.text === '' || (!known && isNew)) return;
    const { cluster, clock } = this.#options;
    const { namespace } = worker.object.metadata;
    await cluster.delete(endpointSliceResource, { namespace, name: sliceName(worker.name) });
    this.#slices.set(worker.name, { text: '', at: clock.now() });
  }

  #forgetOthers(workers: readonly Worker[]): void {
    const existing = new Set(workers.map(({ name }) => name));
    for (const name of this.#slices.keys()) if (!existing.has(name)) this.#slices.delete(name);
  }

  async #ensureSlice(group: EndpointGroup, endpoint: Endpoint): Promise<Published | undefined> {
    const { clock } = this.#options;
    const { name } = endpoint.worker.metadata;
    const slice = workerSlice(group, endpoint);
    const text = JSON.stringify(slice);
    const known = this.#slices.get(name);
    if (this.#isFresh(known, text)) return undefined;
    try {
      if (known?.text === text) await this.#mendSlice(slice);
      else await this.#writeSlice(slice);
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid')) return notPermitted(slice, error);
      throw error;
    }
    this.#slices.set(name, { text, at: clock.now() });
    return undefined;
  }

  async #writeSlice(slice: EndpointSliceObject): Promise<void> {
    try {
      await this.#options.cluster.create(endpointSliceResource, slice);
    } catch (error) {
      if (!isKubeError(error, 'alreadyExists')) throw error;
      await this.#mendSlice(slice);
    }
  }

  /** Looks before it writes. The type of the addresses cannot be changed: such a slice is made anew. */
  async #mendSlice(slice: EndpointSliceObject): Promise<void> {
    const { cluster } = this.#options;
    const present = await cluster.get<EndpointSliceObject>(endpointSliceResource, refOf(slice));
    if (present && isSameSlice(present, slice)) return;
    if (present?.addressType !== slice.addressType) {
      if (present) await cluster.delete(endpointSliceResource, refOf(slice), { uid: present.metadata.uid });
      await cluster.create(endpointSliceResource, slice);
      return;
    }
    const { endpoints, ports, metadata } = slice;
    const body = {
      metadata: { labels: metadata.labels, ownerReferences: metadata.ownerReferences },
      endpoints,
      ports,
    };
    await cluster.patch(endpointSliceResource, refOf(slice), { type: 'merge', body });
  }

  async #ensureService(group: EndpointGroup): Promise<Published> {
    const wanted = groupService(group);
    if (!wanted) return { type: 'done' };
    const text = JSON.stringify(wanted);
    const known = this.#service;
    if (known && this.#isFresh(known, text) && !this.#isDueAgain(known)) return known.published;
    const published = await this.#writeService(group, wanted);
    this.#service = { text, at: this.#options.clock.now(), published };
    return published;
  }

  #isFresh(written: Written | undefined, text: string): boolean {
    return written?.text === text && this.#options.clock.now() - written.at < LOOK_AGAIN_MS;
  }

  #isDueAgain({ published, at }: { readonly published: Published; readonly at: number }): boolean {
    return published.type === 'problem' && this.#options.clock.now() - at >= TRY_AGAIN_MS;
  }

  async #writeService(group: EndpointGroup, wanted: ServiceObject): Promise<Published> {
    const { cluster } = this.#options;
    try {
      const present = await cluster.get<ServiceObject>(serviceResource, refOf(wanted));
      if (present) return await this.#joinService(group, { present, wanted });
      await cluster.create(serviceResource, wanted);
      return { type: 'done' };
    } catch (error) {
      if (!isKubeError(error, 'forbidden', 'invalid')) throw error;
      return notPermitted(wanted, error);
    }
  }

  async #joinService(
    group: EndpointGroup,
    { present, wanted }: { readonly present: ServiceObject; readonly wanted: ServiceObject },
  ): Promise<Published> {
    const { name } = wanted.metadata;
    if (!isGroupService(present)) {
      return {
        type: 'problem',
        reason: 'NameTaken',
        detail: `Service ${name} exists and is not of an EndpointGroup; delete it, or set endpointName.`,
      };
    }
    const owners = present.metadata.ownerReferences ?? [];
    const isOwner = owners.some(({ uid }) => uid === group.metadata.uid);
    const isAlone = owners.every(({ uid }) => uid === group.metadata.uid);
    const hasPorts = samePorts(present.spec.ports, wanted.spec.ports);
    if (!hasPorts && !isAlone) {
      return {
        type: 'problem',
        reason: 'ServicePortsDiffer',
        detail: `Service ${name} is shared and has other ports than the template of this group; give all its groups the same ports.`,
      };
    }
    if (isOwner && hasPorts) return { type: 'done' };
    const body = {
      metadata: {
        resourceVersion: present.metadata.resourceVersion,
        ...(!isOwner && { ownerReferences: [...owners, sharedOwner(group)] }),
      },
      ...(!hasPorts && { spec: { ports: wanted.spec.ports } }),
    };
    await this.#options.cluster.patch(serviceResource, refOf(wanted), { type: 'merge', body });
    return { type: 'done' };
  }
}

function notPermitted({ kind, metadata }: KubeObject, error: Error): Published {
  const detail = `${kind} ${metadata.name} cannot be written: ${error.message}`.slice(0, 1024);
  return { type: 'problem', reason: 'NotPermitted', detail };
}

/** The Service that a slice belongs to stands in a label. */
function hasLabels({ metadata }: KubeObject, labels: KubeObject['metadata']['labels'] = {}): boolean {
  return Object.entries(labels).every(([name, value]) => metadata.labels?.[name] === value);
}

function isSameSlice(present: EndpointSliceObject, wanted: EndpointSliceObject): boolean {
  const ownerOf = (object: KubeObject) => object.metadata.ownerReferences?.[0]?.uid;
  const addressOf = (slice: EndpointSliceObject) => slice.endpoints[0]?.addresses[0];
  return (
    present.addressType === wanted.addressType &&
    ownerOf(present) === ownerOf(wanted) &&
    addressOf(present) === addressOf(wanted) &&
    hasLabels(present, wanted.metadata.labels) &&
    present.endpoints[0]?.conditions.ready === true &&
    samePorts(present.ports, wanted.ports)
  );
}
