import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { eventResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';

/** State of an object at one time, for an observer of the cluster. */
export interface Sighting {
  readonly name: string;
  readonly phase: string;
  readonly word: string;
  readonly instanceId: string | undefined;
  readonly hostId: string | undefined;
  readonly pricePerHour: string;
  readonly isReady: boolean;
  readonly endpoint: string;
  readonly message: string;
}

function sightingOf(object: GpuInstance): Sighting {
  const { status } = object;
  const ready = status?.conditions?.find((condition) => condition.type === 'Ready');
  return {
    name: object.metadata.name,
    phase: status?.phase ?? 'Pending',
    word: status?.instanceId === undefined ? '-' : (status.actualStatus ?? 'null'),
    instanceId: status?.instanceId,
    hostId: status?.hostId,
    pricePerHour: status?.cost?.pricePerHour ?? '-',
    isReady: ready?.status === 'True',
    endpoint: status?.ssh ? `${status.ssh.host}:${status.ssh.port}` : '-',
    message: ready?.message ?? '',
  };
}

/** Returns the present instances of a namespace, by name. */
export async function lookAtInstances(
  client: KubeClient,
  namespace: string,
): Promise<ReadonlyMap<string, Sighting>> {
  const { items } = await client.list<GpuInstance>(gpuInstanceResource, { namespace });
  return new Map(items.map((object) => [object.metadata.name, sightingOf(object)]));
}

interface EventObject extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly regarding?: { readonly apiVersion?: string; readonly kind?: string; readonly name?: string };
}

/** Tells each event about our objects of a namespace once; a node writes others. */
export class EventReader {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #kind: string | undefined;
  readonly #told = new Set<string>();

  /** Follows the events of all kinds of objects unless `kind` is given. */
  constructor(client: KubeClient, namespace: string, kind?: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#kind = kind;
  }

  /** Returns the events since the last call, oldest first. */
  async newLines(): Promise<readonly string[]> {
    const { items } = await this.#client.list<EventObject>(eventResource, { namespace: this.#namespace });
    const fresh = items.filter(
      ({ metadata, regarding }) =>
        !this.#told.has(metadata.uid ?? '') &&
        regarding?.apiVersion === API_VERSION &&
        (this.#kind ?? regarding.kind) === regarding.kind,
    );
    for (const event of fresh) this.#told.add(event.metadata.uid ?? '');
    return fresh.map(({ type, reason, note, regarding }) =>
      `  event ${type === 'Warning' ? 'Warning ' : ''}${reason} ${regarding?.name}: ${note}`.trimEnd(),
    );
  }
}
