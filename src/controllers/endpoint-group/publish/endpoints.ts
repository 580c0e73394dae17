import { isIP } from 'node:net';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { isIdentityPort } from '../../../api/v1alpha1/identity-port.ts';
import type { MicroDollars } from '../../../lib/money.ts';
import { type AddressPolicy, machineAddressProblem } from '../../../lib/networks.ts';
import type { ServicePort } from '../../../runtime/kube/core-resources.ts';
import type { Worker } from '../workers/worker.ts';

type MappedPort = NonNullable<NonNullable<GpuInstance['status']>['ports']>[number];

/** Where one worker is reached that is ready, or finishes the requests that its gateway gave it. */
export interface Endpoint {
  readonly worker: GpuInstance;
  /** It finishes what it has, and gets nothing new. */
  readonly isDraining: boolean;
  readonly address: string;
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports: readonly ServicePort[];
  /** Of its machine; undefined where it is not known. */
  readonly pricePerHour: MicroDollars | undefined;
}

/** A ready worker that cannot be reached in the way a Service leads. */
export interface EndpointProblem {
  readonly worker: string;
  readonly detail: string;
}

export interface Endpoints {
  readonly endpoints: readonly Endpoint[];
  readonly problems: readonly EndpointProblem[];
}

/** The name of the Service: several groups of a namespace may share it. */
export function endpointNameOf({ metadata, spec }: EndpointGroup): string {
  return spec.endpointName ?? metadata.name;
}

/** The ports of the Service: those of the template, by the number inside the container, without identity ports. */
export function servicePorts({ spec }: EndpointGroup): readonly ServicePort[] {
  return (spec.template.spec.ports ?? [])
    .filter((port) => !isIdentityPort(port))
    .map((port) => ({ name: portName(port), port: port.containerPort, protocol: port.protocol }));
}

type NamedPort = Pick<MappedPort, 'name' | 'containerPort' | 'protocol'>;

function portName({ name, containerPort, protocol }: NamedPort): string {
  return name ?? `${protocol.toLowerCase()}-${containerPort}`;
}

/**
 * Workers that are wanted, serve, and have a public address with their ports mapped. Behind a gateway also those that
 * drain: its proxy keeps connections to workers that it knows.
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

/** Whether requests reach the workers of a group through `gpu-rent endpoint-picker`. */
export function hasGateway({ spec }: EndpointGroup): boolean {
  return spec.gateway?.enabled === true;
}

/** It was ready, leaves, and its machine runs: it may have requests, also while it does not answer for a moment. */
function isFinishing({ desiredRole, drainSince, isUp }: Worker): boolean {
  return desiredRole !== 'Hot' && drainSince !== undefined && isUp;
}

function endpointOf(
  { object, pricePerHour }: Worker,
  declared: readonly ServicePort[],
  policy: AddressPolicy,
): Omit<Endpoint, 'isDraining'> | string {
  const { publicAddress: address, ports = [] } = object.status ?? {};
  if (address === undefined) return 'has no public address';
  const problem = machineAddressProblem(address, policy);
  if (problem !== undefined) return `has the address ${address}, which ${problem}`;
  const mapped = mappedPorts(declared, ports);
  if (mapped.length === 0) return 'has none of the declared ports mapped';
  const addressType = isIP(address) === 6 ? 'IPv6' : 'IPv4';
  return { worker: object, address, addressType, ports: mapped, pricePerHour };
}

/**
 * The declared ports that a worker has, by their public numbers. A worker of a former template is led to by its own
 * mapping of the port of that name, and a port that was only renamed is known by its number: so a changed template
 * takes no worker out of the Service before another relieves it.
 */
function mappedPorts(declared: readonly ServicePort[], own: readonly MappedPort[]): readonly ServicePort[] {
  const isSame = (port: ServicePort, one: MappedPort) =>
    port.name === portName(one) && port.protocol === one.protocol;
  const renamed = own.filter((one) => !declared.some((port) => isSame(port, one)));
  return declared.flatMap((port): ServicePort[] => {
    const found =
      own.find((one) => isSame(port, one)) ??
      renamed.find((one) => one.containerPort === port.port && one.protocol === port.protocol);
    return found ? [{ ...port, port: found.publicPort }] : [];
  });
}
