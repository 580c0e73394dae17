import type { GpuInstance, GpuInstanceSpec, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { mappingOf } from '../api/v1alpha1/identity-port.ts';
import { hostAndPort } from '../lib/host-port.ts';
import { omitUndefined } from '../lib/json.ts';
import { type ListedPorts, mappedPorts } from './machine-ports.ts';

/** A host and a port to connect to. */
export interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/** Addresses of a machine as its market lists them. */
export interface ListedAddresses extends ListedPorts {
  readonly publicAddress?: string | undefined;
  readonly sshHost?: string | undefined;
  readonly sshPort?: number | undefined;
}

/** Addresses of a machine in the status of its object. */
export type MachineAddresses = Pick<GpuInstanceStatus, 'publicAddress' | 'endpoint' | 'ssh' | 'ports'>;

/** Addresses of a listed machine for the status of its object. The endpoint is SSH, or else the first mapped port. */
export function machineAddresses(machine: ListedAddresses, spec: GpuInstanceSpec): MachineAddresses {
  const { publicAddress, sshHost, sshPort } = machine;
  const ports = mappedPorts(machine, spec);
  const ssh = sshHost !== undefined && sshPort !== undefined ? { host: sshHost, port: sshPort } : undefined;
  const main = connectionAddress({ publicAddress, ssh, ports });
  const endpoint =
    main.host !== undefined && main.port !== undefined ? hostAndPort(main.host, main.port) : undefined;
  return { ...omitUndefined({ publicAddress, endpoint, ssh }), ...(ports.length > 0 && { ports }) };
}

/**
 * Returns the host and port that clients connect to first: SSH, or else the first mapped port. Either may be unknown
 * yet.
 */
export function connectionAddress({
  publicAddress,
  ssh,
  ports = [],
}: MachineAddresses): Partial<SocketAddress> {
  return omitUndefined({ host: ssh?.host ?? publicAddress, port: ssh?.port ?? ports[0]?.publicPort });
}

/**
 * Returns the public address of a declared port, by its name or its number inside the container. The address of SSH if
 * the spec does not declare the port. Undefined while the machine does not map it.
 */
export function portAddress(
  { spec, status }: Pick<GpuInstance, 'spec' | 'status'>,
  port: string | number,
): SocketAddress | undefined {
  const declared = spec.ports?.find(({ name, containerPort }) => name === port || containerPort === port);
  if (!declared) return status?.ssh;
  return mappedAddress({ spec, status }, declared);
}

/**
 * Returns the public address of a TCP port: by its declared name, by its number inside the container, or else of the
 * first declared one. A number need not be declared. Undefined while the machine does not map the port.
 */
export function tcpPortAddress(
  { spec, status }: Pick<GpuInstance, 'spec' | 'status'>,
  port: string | number | undefined,
): SocketAddress | undefined {
  if (typeof port === 'number')
    return mappedAddress({ spec, status }, { containerPort: port, protocol: 'TCP' });
  const declared = spec.ports?.find(
    ({ name, protocol }) => protocol === 'TCP' && (port === undefined || name === port),
  );
  return declared && mappedAddress({ spec, status }, declared);
}

function mappedAddress(
  { spec, status }: Pick<GpuInstance, 'spec' | 'status'>,
  port: Pick<NonNullable<GpuInstanceSpec['ports']>[number], 'containerPort' | 'protocol'>,
): SocketAddress | undefined {
  const mapped = mappingOf(port, spec.ports ?? [], status?.ports ?? []);
  if (!mapped || status?.publicAddress === undefined) return undefined;
  return { host: status.publicAddress, port: mapped.publicPort };
}

/** Returns the open ports in text, such as `http=203.0.113.7:40080`. */
export function openPortsText({ publicAddress, ports = [] }: MachineAddresses): string {
  if (publicAddress === undefined) return '';
  return ports
    .map(
      ({ containerPort, publicPort, name }) =>
        `${name ?? containerPort}=${hostAndPort(publicAddress, publicPort)}`,
    )
    .join(' ');
}
