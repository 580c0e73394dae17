import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { type ServiceObject, serviceResource } from '../../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { refOf } from '../../../runtime/kube/kube-object.ts';
import type { Published } from '../types.ts';
import { doOthersAgree } from './co-owners.ts';
import { endpointNameOf } from './endpoints.ts';
import { groupService, isGroupService, samePorts, sharedOwner } from './service.ts';
import { isFresh, notPermitted, type PublishPorts, type Written } from './written.ts';

/** A Service whose name someone else holds is tried again after this time. */
const TRY_AGAIN_MS = 15_000;

/** One group's part in the Service of its endpoint name, which other groups may own as well. */
export class SharedService {
  readonly #ports: PublishPorts;
  /** Names that the group had before its `endpointName` was changed, as far as its status told. */
  readonly #former = new Set<string>();
  #service: (Written & { readonly published: Published }) | undefined;

  constructor(ports: PublishPorts) {
    this.#ports = ports;
  }

  /**
   * Makes or joins the Service, or leaves it where the template declares no port. Says what keeps the group from it;
   * rejects where the API server does not answer.
   */
  async ensure(group: EndpointGroup): Promise<Published> {
    this.#noteFormer(group);
    const wanted = groupService(group);
    const text = JSON.stringify(wanted ?? 'none');
    const now = this.#ports.clock.now();
    const known = this.#service;
    if (known && isFresh(known, text, now) && !this.#isDueAgain(known)) return known.published;
    const published = await (wanted ? this.#writeService(group, wanted) : this.#goWithout(group));
    this.#service = { text, at: this.#ports.clock.now(), published };
    return published;
  }

  /** Gives up the group's part; the last group takes the Service away. */
  async withdraw(group: EndpointGroup): Promise<void> {
    this.#noteFormer(group);
    await this.leaveFormer(group);
    await this.#leave(group, endpointNameOf(group));
  }

  /** To be called once the Service of the present name leads to the workers. */
  async leaveFormer(group: EndpointGroup): Promise<void> {
    for (const name of this.#former) {
      await this.#leave(group, name);
      this.#former.delete(name);
    }
  }

  #noteFormer(group: EndpointGroup): void {
    const [recorded] = group.status?.endpoint?.split('.') ?? [];
    if (recorded !== undefined) this.#former.add(recorded);
    this.#former.delete(endpointNameOf(group));
  }

  async #leave(group: EndpointGroup, name: string): Promise<void> {
    const { cluster } = this.#ports;
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

  async #goWithout(group: EndpointGroup): Promise<Published> {
    await this.#leave(group, endpointNameOf(group));
    return { type: 'done' };
  }

  #isDueAgain({ published, at }: { readonly published: Published; readonly at: number }): boolean {
    return published.type === 'problem' && this.#ports.clock.now() - at >= TRY_AGAIN_MS;
  }

  async #writeService(group: EndpointGroup, wanted: ServiceObject): Promise<Published> {
    const { cluster } = this.#ports;
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
    const hasPorts = samePorts(present.spec.ports, wanted.spec.ports);
    if (!hasPorts && !(await doOthersAgree(this.#ports.cluster, group, present))) {
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
    await this.#ports.cluster.patch(serviceResource, refOf(wanted), { type: 'merge', body });
    return { type: 'done' };
  }
}
