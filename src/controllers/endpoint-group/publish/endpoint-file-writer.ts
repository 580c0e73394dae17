import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { sameJson } from '../../../lib/json.ts';
import { type ChildChange, ensureChild } from '../../../runtime/ensure-child.ts';
import { type ConfigMapObject, configMapResource } from '../../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { type KubeObject, uidOf } from '../../../runtime/kube/kube-object.ts';
import type { PublishedFile } from '../types.ts';
import {
  ENDPOINT_FILE_KEY,
  endpointFile,
  endpointFileName,
  endpointFileObject,
  publishesFile,
} from './endpoint-file.ts';
import type { Endpoint } from './endpoints.ts';
import { isFresh, notPermittedTo, type PublishPorts, TRY_AGAIN_MS, type Written } from './service.ts';

/** ConfigMap as the API server returns it, possibly after a manual change. */
interface PresentFile extends KubeObject {
  readonly data?: ConfigMapObject['data'] | null;
}

/** Writes the list of ready workers of one group, and deletes it. It remembers its last write. */
export class EndpointFileWriter {
  readonly #ports: PublishPorts;
  #written: Written | undefined;
  #last: PublishedFile = { type: 'unknown' };

  constructor(ports: PublishPorts) {
    this.#ports = ports;
  }

  /** Returns the result of the last write. */
  published(): PublishedFile {
    return this.#last;
  }

  /**
   * Writes the ready workers to the file, or deletes it if the group publishes none, and resolves with the result.
   * Rejects if the API server fails; a retry is harmless.
   */
  async ensure(group: EndpointGroup, endpoints: readonly Endpoint[]): Promise<PublishedFile> {
    const isDesired = publishesFile(group) && !this.#isTooLate(group);
    this.#last = await (isDesired ? this.#write(group, endpoints) : this.#remove(group));
    return this.#last;
  }

  /**
   * Returns true if the group is being deleted and has no file. An existing file becomes empty first, since readers
   * may keep their last list after its deletion.
   */
  #isTooLate({ metadata, status }: EndpointGroup): boolean {
    return (
      metadata.deletionTimestamp !== undefined && !this.#written && status?.endpointsConfigMap === undefined
    );
  }

  async #write(group: EndpointGroup, endpoints: readonly Endpoint[]): Promise<PublishedFile> {
    const { cluster, clock } = this.#ports;
    const { text, ...leftOut } = endpointFile(group, endpoints);
    const desired = endpointFileObject(group, text);
    const known = this.#written;
    const now = clock.now();
    const isDueAgain = this.#last.type === 'problem' && now - (known?.at ?? 0) >= TRY_AGAIN_MS;
    const whole = JSON.stringify(desired);
    if (isFresh(known, whole, now) && !isDueAgain) return this.#last;
    const written = await refusedOr(desired, async () => {
      const outcome = await ensureChild<ConfigMapObject, PresentFile>({
        client: cluster,
        resource: configMapResource,
        child: desired,
        mayExist: true,
        isOwned: (present) => isOwned(present, group),
        change: (present) => changeOf(present, desired),
      });
      return outcome.type === 'done' ? { type: 'written', ...leftOut } : nameTaken(desired);
    });
    this.#written = { text: whole, at: clock.now() };
    return written;
  }

  /** Deletes the file. A group that never had one sends no request. */
  async #remove(group: EndpointGroup): Promise<PublishedFile> {
    const { cluster } = this.#ports;
    const name = endpointFileName(group);
    if (!this.#written && group.status?.endpointsConfigMap === undefined) return { type: 'none' };
    const ref = { namespace: group.metadata.namespace, name };
    return refusedOr({ kind: 'ConfigMap', metadata: { name } }, async () => {
      const present = await cluster.get<PresentFile>(configMapResource, ref);
      if (present && isOwned(present, group))
        await cluster.delete(configMapResource, ref, { uid: uidOf(present) });
      this.#written = undefined;
      return { type: 'none' };
    });
  }
}

/**
 * Returns true if a group of this name created the object. Its owner reference counts if a person removed the labels.
 */
function isOwned({ metadata }: KubeObject, group: EndpointGroup): boolean {
  const { [labels.managedBy]: manager, [labels.endpointGroup]: name } = metadata.labels ?? {};
  if (manager === OPERATOR_NAME && name === group.metadata.name) return true;
  return metadata.ownerReferences?.some(({ uid }) => uid === group.metadata.uid) ?? false;
}

function changeOf(present: PresentFile, { metadata, data }: ConfigMapObject): ChildChange {
  const { labels: marks, ownerReferences } = metadata;
  const isSame =
    present.data?.[ENDPOINT_FILE_KEY] === data[ENDPOINT_FILE_KEY] &&
    Object.entries(marks ?? {}).every(([name, value]) => present.metadata.labels?.[name] === value) &&
    sameJson(present.metadata.ownerReferences ?? [], ownerReferences ?? []);
  return isSame
    ? { type: 'none' }
    : { type: 'patch', body: { metadata: { labels: marks, ownerReferences }, data } };
}

function nameTaken({ metadata }: KubeObject): PublishedFile {
  const detail = `ConfigMap ${metadata.name} does not belong to this EndpointGroup; delete it so that the operator can list ready workers there.`;
  return { type: 'problem', reason: 'NameTaken', detail };
}

/** Reports a refused write as a problem, since nothing else of the group depends on the file. */
async function refusedOr(
  { kind, metadata }: { readonly kind: string; readonly metadata: { readonly name: string } },
  write: () => Promise<PublishedFile>,
): Promise<PublishedFile> {
  try {
    return await write();
  } catch (error) {
    if (!isKubeError(error, 'forbidden', 'invalid', 'terminating')) throw error;
    return notPermittedTo(`Cannot write ${kind} ${metadata.name}`, error);
  }
}
