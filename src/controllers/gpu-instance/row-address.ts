import type { GpuInstanceSpec, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { omitUndefined } from '../../lib/json.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import type { StatusFields } from './types.ts';

type MappedPort = NonNullable<GpuInstanceStatus['ports']>[number];

const MOST_PORTS = 64;

/** Where a listed machine is reached. */
export function addressFields(
  row: Instance,
  spec: GpuInstanceSpec,
): Pick<StatusFields, 'publicAddress' | 'endpoint' | 'ssh' | 'ports'> {
  const ports = mappedPorts(row, spec);
  return {
    ...omitUndefined({ publicAddress: row.publicAddress, endpoint: endpointOf(row, ports) }),
    ...(row.sshHost === undefined || row.sshPort === undefined
      ? {}
      : { ssh: { host: row.sshHost, port: row.sshPort } }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

function mappedPorts(row: Instance, spec: GpuInstanceSpec): MappedPort[] {
  const names = new Map(
    (spec.ports ?? []).map((port) => [`${port.containerPort}/${port.protocol}`, port.name]),
  );
  return Object.entries(row.ports)
    .flatMap(([key, publicPort]) => {
      const [port = '', transport = ''] = key.split('/');
      const protocol: MappedPort['protocol'] = transport === 'udp' ? 'UDP' : 'TCP';
      const name = names.get(`${port}/${protocol}`);
      return [{ containerPort: Number(port), protocol, publicPort, ...omitUndefined({ name }) }];
    })
    .filter((port) => Number.isInteger(port.containerPort))
    .sort(
      (left, right) => left.containerPort - right.containerPort || (left.protocol < right.protocol ? -1 : 1),
    )
    .slice(0, MOST_PORTS);
}

function endpointOf(row: Instance, ports: readonly MappedPort[]): string | undefined {
  if (row.sshHost !== undefined && row.sshPort !== undefined) return `${row.sshHost}:${row.sshPort}`;
  const [first] = ports;
  return first && row.publicAddress !== undefined ? `${row.publicAddress}:${first.publicPort}` : undefined;
}
