import type { GpuInstanceSpec, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { isIdentityPort } from '../api/v1alpha1/identity-port.ts';

/** A port of a Service or of an EndpointSlice. */
interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

type DeclaredPort = NonNullable<GpuInstanceSpec['ports']>[number];
type MappedPort = NonNullable<GpuInstanceStatus['ports']>[number];

/** Returns the Service ports of declared ports, by their number in the container, without identity ports. */
export function servicePortsOf(declared: readonly DeclaredPort[] = []): readonly ServicePort[] {
  return declared
    .filter((port) => !isIdentityPort(port))
    .map((port) => ({ name: portName(port), port: port.containerPort, protocol: port.protocol }));
}

function portName({
  name,
  containerPort,
  protocol,
}: Pick<MappedPort, 'name' | 'containerPort' | 'protocol'>): string {
  return name ?? `${protocol.toLowerCase()}-${containerPort}`;
}

/**
 * Returns the Service ports that a machine maps, with their public numbers. The machine may be of a former spec: its
 * port matches by name and protocol, or by number and protocol if the name matches no Service port. A changed spec
 * therefore removes no machine from the Service before its replacement is ready.
 */
export function publishedPorts(
  ports: readonly ServicePort[],
  mapped: readonly MappedPort[],
): readonly ServicePort[] {
  const isSame = (port: ServicePort, one: MappedPort) =>
    port.name === portName(one) && port.protocol === one.protocol;
  const renamed = mapped.filter((one) => !ports.some((port) => isSame(port, one)));
  return ports.flatMap((port): ServicePort[] => {
    const found =
      mapped.find((one) => isSame(port, one)) ??
      renamed.find((one) => one.containerPort === port.port && one.protocol === port.protocol);
    return found ? [{ ...port, port: found.publicPort }] : [];
  });
}
