import type { EndpointGroupCondition } from '../api/v1alpha1/conditions.ts';
import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import { gatewaySpec } from '../api/v1alpha1/gateway-spec.ts';
import {
  API_VERSION,
  annotations,
  gpuInstanceResource,
  labels,
  OPERATOR_NAME,
} from '../api/v1alpha1/names.ts';
import { servingPortName } from '../api/v1alpha1/serving-port.ts';
import { type Link, linkOfGroup, workerDnsName } from '../api/v1alpha1/worker-link.ts';
import { hostAndPort } from '../lib/host-port.ts';
import { type MicroDollars, parseDollars } from '../lib/money.ts';
import type { ObjectMeta } from '../lib/object-meta.ts';
import { parseQuantity } from '../lib/quantity.ts';
import { parseDuration } from '../lib/time.ts';
import { type DialPolicy, dial } from '../reach/dial.ts';
import type { Condition, KubeObject } from '../runtime/kube/kube-object.ts';
import { objectKey } from '../runtime/kube/kube-object.ts';
import type { Blocked, QueueSettings } from './group-queue.ts';

/** The part of an EndpointGroup that the gateway caches and uses to hold and route requests. */
export interface GatewayGroup extends KubeObject {
  readonly spec: {
    readonly gateway?: GatewaySpec | undefined;
    readonly maxQueueTime: string;
    readonly expectedPerf?: string | undefined;
    readonly template: { readonly spec: { readonly ports?: readonly DeclaredPort[] | undefined } };
  };
  readonly status?:
    | {
        readonly conditions?: readonly Condition[] | undefined;
        readonly starting?: number | undefined;
      }
    | undefined;
}

type GatewaySpec = NonNullable<EndpointGroup['spec']['gateway']>;

interface DeclaredPort {
  readonly name?: string | undefined;
  readonly containerPort: number;
  readonly protocol: 'TCP' | 'UDP';
}

/** The part of a worker's EndpointSlice that the gateway keeps. */
export interface WorkerSlice extends KubeObject {
  readonly endpoints:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?:
          | {
              readonly ready?: boolean | null;
              readonly serving?: boolean | null;
              readonly terminating?: boolean | null;
            }
          | undefined;
      }[]
    | null;
  readonly ports: readonly { readonly name?: string; readonly port?: number }[] | null;
}

/** Settings for the requests of one group. */
export interface GroupSettings extends QueueSettings {
  readonly namespace: string;
  readonly name: string;
  readonly work: GatewaySpec['work'];
  readonly routing: GatewaySpec['routing'];
  readonly link: Link;
  readonly retries: GatewaySpec['retries'];
  readonly trustedCallers: readonly string[];
  /** Paths of requests without work. */
  readonly quietPaths: readonly string[];
  readonly cors: CorsSettings | undefined;
  /** Secret with the callers' keys; undefined if every client may call. */
  readonly keysSecret: string | undefined;
}

/** Settings for calls from web pages of these origins. */
export interface CorsSettings {
  readonly allowOrigins: readonly string[];
  readonly allowMethods: readonly string[];
  readonly allowHeaders: readonly string[];
  readonly maxAgeMs: number;
}

/** A published worker. */
export interface PublishedWorker {
  readonly name: string;
  /** `ip:port` that Envoy dials. */
  readonly address: string;
  /** Name that its certificate must prove; undefined if it is reached without TLS. */
  readonly dnsName: string | undefined;
  /** False if it is draining. */
  readonly ready: boolean;
  /** Price of its machine; undefined if the operator has not written it. */
  readonly pricePerHour: MicroDollars | undefined;
}

/** Labels that select the slices of workers. */
export const WORKER_SLICES = `${labels.managedBy}=${OPERATOR_NAME},${labels.endpointGroup}`;

/** Returns the part of a group that the gateway reads; the rest is not kept in memory. */
export function keptGroup(object: KubeObject): GatewayGroup {
  // The API server has checked the object against the CRD's schema.
  const { spec, status, ...rest } = object as GatewayGroup;
  const { gateway, maxQueueTime, expectedPerf, template } = spec;
  const { ports } = template.spec;
  const conditions = (status?.conditions ?? []).filter(({ type }) => type === BLOCKED);
  return {
    ...rest,
    metadata: keptMeta(object.metadata, []),
    spec: {
      gateway: gateway && withDefaults(gateway),
      maxQueueTime,
      expectedPerf,
      template: { spec: { ports } },
    },
    status: { conditions, starting: status?.starting },
  };
}

/** Returns the settings with defaults: older CRDs lack some fields. */
function withDefaults(gateway: GatewaySpec): GatewaySpec {
  const { data } = gatewaySpec.safeParse(gateway);
  return data ? { ...data, ...gateway } : gateway;
}

/** Returns the part of a slice that the gateway reads. */
export function keptSlice(object: KubeObject): WorkerSlice {
  const { endpoints, ports, ...rest } = object as WorkerSlice;
  const price = object.metadata.annotations?.[annotations.pricePerHour];
  const metadata = {
    ...keptMeta(object.metadata, [labels.endpointGroup, labels.link]),
    ...(price !== undefined && { annotations: { [annotations.pricePerHour]: price } }),
  };
  return { apiVersion: rest.apiVersion, kind: rest.kind, metadata, endpoints, ports };
}

function keptMeta(metadata: ObjectMeta, names: readonly string[]): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, ownerReferences } = metadata;
  const kept = Object.entries(metadata.labels ?? {}).filter(([label]) => names.includes(label));
  return {
    ...{ name, namespace, uid, resourceVersion, generation },
    labels: Object.fromEntries(kept),
    ...(ownerReferences && { ownerReferences }),
  };
}

/** Returns the settings of a group; undefined if it has no gateway. */
export function settingsOf({ metadata, spec }: GatewayGroup): GroupSettings | undefined {
  const { gateway } = spec;
  if (!gateway?.enabled) return undefined;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    holdMs: parseDuration(gateway.hold) ?? 0,
    maxHeld: gateway.maxHeld,
    maxHeldPerClient: gateway.maxHeldPerClient,
    maxHeldBytes: parseQuantity(gateway.maxHeldBytes) ?? 0,
    maxQueueTimeMs: parseDuration(spec.maxQueueTime) ?? 0,
    expectedPerf: spec.expectedPerf === undefined ? undefined : Number(spec.expectedPerf),
    work: gateway.work,
    routing: gateway.routing,
    link: gateway.link,
    retries: gateway.retries,
    trustedCallers: gateway.trustedCallers ?? [],
    quietPaths: gateway.quietPaths,
    cors: gateway.cors && { ...gateway.cors, maxAgeMs: parseDuration(gateway.cors.maxAge) ?? 0 },
    keysSecret: gateway.keys?.secretName,
  };
}

/** Condition of the operator: no worker serves and none can be started. */
const BLOCKED: EndpointGroupCondition = 'WorkersBlocked';

/** Returns the operator's reason why no worker can be started; undefined while one can be, or is starting. */
export function blockedOf({ status }: GatewayGroup): Blocked | undefined {
  const found = status?.conditions?.find((condition) => condition.type === BLOCKED);
  return found?.status === 'True' ? { reason: found.reason, message: found.message } : undefined;
}

/** Returns true if workers boot or start, by the operator's status. */
export function startsWorkers({ status }: GatewayGroup): boolean {
  return (status?.starting ?? 0) > 0;
}

/** Returns the key of the group of a slice. */
export function groupOfSlice({ metadata }: WorkerSlice): string {
  return objectKey({ namespace: metadata.namespace, name: metadata.labels?.[labels.endpointGroup] ?? '' });
}

/**
 * Returns the serving and draining workers of a group, ordered by name. Only slices as the operator writes them are
 * trusted: a GpuInstance owns them, and a machine may have their address. It leaves out workers without the port of the
 * gateway, and workers created for another link.
 */
export function workersOf(
  group: GatewayGroup,
  slices: readonly WorkerSlice[],
  addresses: DialPolicy,
): readonly PublishedWorker[] {
  const port = servingPortName(group);
  const link = linkOfGroup(group);
  const workers = slices.flatMap((slice): PublishedWorker[] => {
    const address = addressOf(slice, port, addresses);
    const owner = ownerOf(slice);
    if (address === undefined || !owner || linkOfSlice(slice) !== link) return [];
    const { annotations: ownAnnotations } = slice.metadata;
    return [
      {
        name: owner.name,
        dnsName: link === 'TLS' ? dnsNameOf(group, owner.uid) : undefined,
        address,
        ready: slice.endpoints?.[0]?.conditions?.ready !== false,
        pricePerHour: parseDollars(ownAnnotations?.[annotations.pricePerHour]),
      },
    ];
  });
  return workers.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Returns `host:port` for Envoy to dial; undefined without an endpoint or that port, or if {@link dial} refuses it. */
function addressOf(
  { endpoints, ports }: WorkerSlice,
  port: string | undefined,
  addresses: DialPolicy,
): string | undefined {
  const [address] = endpoints?.[0]?.addresses ?? [];
  const number = ports?.find(({ name }) => name === port)?.port;
  if (address === undefined || number === undefined) return undefined;
  const dialed = dial(address, addresses);
  return 'host' in dialed ? hostAndPort(dialed.host, number) : undefined;
}

function linkOfSlice({ metadata }: WorkerSlice): Link {
  return metadata.labels?.[labels.link] === 'TLS' ? 'TLS' : 'Plain';
}

/** Returns the GpuInstance that controls a slice; undefined for a slice of another owner. */
function ownerOf({ metadata }: WorkerSlice) {
  return metadata.ownerReferences?.find(
    ({ controller, apiVersion, kind, uid }) =>
      controller && apiVersion === API_VERSION && kind === gpuInstanceResource.kind && uid !== '',
  );
}

function dnsNameOf({ metadata: { namespace = '', name } }: GatewayGroup, uid: string): string {
  return workerDnsName(uid, { namespace, name });
}
