import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { servingPortName } from '../../../api/v1alpha1/serving-port.ts';
import type { ConfigMapObject } from '../../../runtime/kube/core-resources.ts';
import { controllerReference } from '../../../runtime/kube/kube-object.ts';
import type { Endpoint } from './endpoints.ts';

/** Returns true if the group lists its ready workers in a ConfigMap. */
export function publishesFile({ spec }: EndpointGroup): boolean {
  return spec.gateway?.publish === 'FileDiscovery';
}

export function endpointFileName({ metadata }: EndpointGroup): string {
  return `${metadata.name}-endpoints`;
}

/** Key of the ConfigMap, and name of the file in its volume. */
export const ENDPOINT_FILE_KEY = 'endpoints.json';

/** Maximum size of the file in llm-d-router's file discovery and of a ConfigMap, less a reserve for the metadata. */
export const MAX_ENDPOINT_FILE_BYTES = 2 ** 20 - 8192;

/** Text of the file, and the number of ready workers that it does not contain. */
export interface EndpointFile {
  readonly text: string;
  /** Workers with an IPv6 address, or without the serving port. */
  readonly unlisted: number;
  /** Workers for which the file has no room. */
  readonly tooMany: number;
}

/**
 * Returns the ready workers in the format of llm-d-router's file discovery, one endpoint a line: IPv4 only, the port
 * as text. The labels are those of the GpuInstance, so that filters can use the labels of the template.
 */
export function endpointFile(group: EndpointGroup, endpoints: readonly Endpoint[]): EndpointFile {
  const ready = endpoints.filter(({ isDraining }) => !isDraining);
  const port = servingPortName(group);
  const entries = ready.flatMap((endpoint) => entryOf(endpoint, port) ?? []);
  const lines = entries
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((entry) => JSON.stringify(entry));
  const fitting = fittingOf(lines);
  return {
    text: `{"endpoints":[\n${fitting.join(',\n')}\n]}\n`,
    unlisted: ready.length - entries.length,
    tooMany: lines.length - fitting.length,
  };
}

function entryOf({ worker, addressType, address, ports }: Endpoint, serving: string | undefined) {
  const port = ports.find(({ name }) => name === serving)?.port;
  if (addressType !== 'IPv4' || port === undefined) return undefined;
  const { name, namespace = '', labels: given = {} } = worker.metadata;
  const sorted = Object.entries(given).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return { name, namespace, address, port: String(port), labels: Object.fromEntries(sorted) };
}

function fittingOf(lines: readonly string[]): readonly string[] {
  let bytes = 0;
  const end = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 2;
    return bytes > MAX_ENDPOINT_FILE_BYTES;
  });
  return end < 0 ? lines : lines.slice(0, end);
}

/** Returns the ConfigMap with the file. The group owns it. */
export function endpointFileObject(group: EndpointGroup, text: string): ConfigMapObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: endpointFileName(group),
      namespace: group.metadata.namespace,
      labels: { [labels.managedBy]: OPERATOR_NAME, [labels.endpointGroup]: group.metadata.name },
      ownerReferences: [controllerReference(group)],
    },
    data: { [ENDPOINT_FILE_KEY]: text },
  };
}
