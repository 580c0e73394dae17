import type { GpuInstanceSpec, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { mappingOf } from '../api/v1alpha1/identity-port.ts';
import { omitUndefined } from '../lib/json.ts';

/** Ports of a machine as its market lists them: the public number by `8080/tcp`. */
export interface ListedPorts {
  readonly ports: Readonly<Record<string, number>>;
}

type MappedPort = NonNullable<GpuInstanceStatus['ports']>[number];

const MAX_PORTS = 64;

/** Returns the mapped ports of a machine, sorted by the number inside, with the names that the spec gives them. */
export function mappedPorts(machine: ListedPorts, { ports: declared = [] }: GpuInstanceSpec): MappedPort[] {
  const mappings = mappingsOf(machine);
  const names = new Map(declared.map((port) => [mappingOf(port, declared, mappings), port.name]));
  return mappings
    .map((mapping) => ({ ...mapping, ...omitUndefined({ name: names.get(mapping) }) }))
    .sort(
      (left, right) => left.containerPort - right.containerPort || (left.protocol < right.protocol ? -1 : 1),
    )
    .slice(0, MAX_PORTS);
}

/** Returns the declared ports that the machine does not map, as `8080/tcp`. */
export function unmappedPorts(
  machine: ListedPorts,
  { ports: declared = [] }: GpuInstanceSpec,
): readonly string[] {
  const mappings = mappingsOf(machine);
  return declared
    .filter((port) => !mappingOf(port, declared, mappings))
    .map(({ containerPort, protocol }) => `${containerPort}/${protocol === 'UDP' ? 'udp' : 'tcp'}`);
}

function mappingsOf(machine: ListedPorts): readonly MappedPort[] {
  return Object.entries(machine.ports)
    .map(([key, publicPort]): MappedPort => {
      const [port = '', transport = ''] = key.split('/');
      return { containerPort: Number(port), protocol: transport === 'udp' ? 'UDP' : 'TCP', publicPort };
    })
    .filter(({ containerPort }) => Number.isInteger(containerPort));
}
