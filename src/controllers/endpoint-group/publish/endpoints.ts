import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { MicroDollars } from '../../../lib/money.ts';
import type { AddressPolicy } from '../../../lib/networks.ts';
import { endpointAddress } from '../../../reach/endpoint-address.ts';
import { publishedPorts, servicePortsOf } from '../../../reach/service-ports.ts';
import type { ServicePort } from '../../../runtime/kube/core-resources.ts';
import type { Worker } from '../workers/worker.ts';

/** Address of a worker that serves, or that finishes its requests behind a gateway. */
export interface Endpoint {
  readonly worker: GpuInstance;
  /** Finishes its requests and gets no new ones. */
  readonly isDraining: boolean;
  readonly address: string;
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports: readonly ServicePort[];
  /** Price of its machine; undefined if unknown. */
  readonly pricePerHour: MicroDollars | undefined;
}

/** A ready worker without an endpoint, and the reason. */
export interface EndpointProblem {
  readonly worker: string;
  readonly detail: string;
}

export interface Endpoints {
  readonly endpoints: readonly Endpoint[];
  readonly problems: readonly EndpointProblem[];
}

/** Returns the name of the Service. Several groups of a namespace may share it. */
export function endpointNameOf({ metadata, spec }: EndpointGroup): string {
  return spec.endpointName ?? metadata.name;
}

/** Returns the ports of the Service, from the template. */
export function servicePorts({ spec }: EndpointGroup): readonly ServicePort[] {
  return servicePortsOf(spec.template.spec.ports);
}

/**
 * Returns the endpoints of hot workers that serve and have a public address with mapped ports. Behind a gateway it
 * includes draining workers, since the proxy keeps connections only to workers that it knows.
 */
export function endpointsOf(
  group: EndpointGroup,
  workers: readonly Worker[],
  policy: AddressPolicy,
): Endpoints {
  const endpoints: Endpoint[] = [];
  const problems: EndpointProblem[] = [];
  const declared = servicePorts(group);
  for (const worker of workers) {
    const isDraining = hasGateway(group) && isFinishing(worker);
    if (worker.isDeleting || !(isDraining || (worker.isServing && worker.desiredRole === 'Hot'))) continue;
    if (declared.length === 0) continue;
    const found = endpointOf(worker, declared, policy);
    if (typeof found !== 'string') endpoints.push({ ...found, isDraining });
    else if (!isDraining) problems.push({ worker: worker.name, detail: found });
  }
  return { endpoints, problems };
}

/** Returns true if requests reach the workers of a group through `gpu-rent endpoint-picker`. */
export function hasGateway({ spec }: EndpointGroup): boolean {
  return spec.gateway?.enabled === true;
}

/** Returns true for a running worker that drains: it may still have requests, even while it is briefly unready. */
function isFinishing({ desiredRole, drainSince, isUp }: Worker): boolean {
  return desiredRole !== 'Hot' && drainSince !== undefined && isUp;
}

function endpointOf(
  { object, pricePerHour }: Worker,
  declared: readonly ServicePort[],
  policy: AddressPolicy,
): Omit<Endpoint, 'isDraining'> | string {
  const { publicAddress: address, ports = [] } = object.status ?? {};
  if (address === undefined) return 'it has no public address';
  const found = endpointAddress(address, policy);
  if ('problem' in found) return `its address ${address} ${found.problem}`;
  const published = publishedPorts(declared, ports);
  if (published.length === 0) return 'none of the declared ports is mapped';
  return { worker: object, ...found, ports: published, pricePerHour };
}
