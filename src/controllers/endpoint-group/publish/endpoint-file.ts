import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { servingPortName } from '../../../api/v1alpha1/serving-port.ts';
import type { ConfigMapObject } from '../../../runtime/kube/core-resources.ts';
import { controllerReference } from '../../../runtime/kube/kube-object.ts';
import type { Endpoint } from './endpoints.ts';

/** Whether ready workers are listed in a ConfigMap. */
export function publishesFile({ spec }: EndpointGroup): boolean {
  return spec.gateway?.publish === 'FileDiscovery';
}

export function endpointFileName({ metadata }: EndpointGroup): string {
  return `${metadata.name}-endpoints`;
}

/** The key of the ConfigMap, and so the name of the file where it is mounted. */
export const ENDPOINT_FILE_KEY = 'endpoints.json';

/** The file discovery of llm-d-router reads no larger file, and a ConfigMap holds no more. The rest is for the object. */
export const MAX_ENDPOINT_FILE_BYTES = 2 ** 20 - 8192;

/** The text of the file, and how many ready workers are not in it. */
export interface EndpointFile {
  readonly text: string;
  /** They have an IPv6 address, or not the port that serves. */
  readonly unlisted: number;
  /** The file is full. */
  readonly tooMany: number;
}

/**
 * Ready workers in the format of llm-d-router's file discovery, an endpoint a line: IPv4 alone, the port as text. Labels are
 * those of the GpuInstance: what the template gives workers is there for filters to go by.
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

/** The ConfigMap that holds it. It goes with the group. */
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
