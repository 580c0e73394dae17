import { isDeepStrictEqual } from 'node:util';
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { Cluster_DiscoveryType, ClusterSchema } from '../../proto/gen/envoy/cluster_pb.js';
import { ApiVersion } from '../../proto/gen/envoy/core_pb.js';
import {
  AggregatedDiscoveryService,
  type DiscoveryRequest,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from '../../proto/gen/envoy/discovery_pb.js';
import { ClusterLoadAssignmentSchema } from '../../proto/gen/envoy/endpoint_pb.js';
import { HttpProtocolOptionsSchema } from '../../proto/gen/envoy/http_protocol_options_pb.js';
import { OverrideHostSchema } from '../../proto/gen/envoy/override_host_pb.js';
import { RoundRobinSchema } from '../../proto/gen/envoy/round_robin_pb.js';
import {
  SecretSchema,
  TlsParameters_TlsProtocol,
  UpstreamTlsContextSchema,
} from '../../proto/gen/envoy/tls_pb.js';
import type { Logger } from '../lib/logger.ts';
import type { Secret } from '../lib/secret.ts';
import { BUFFER_BYTES } from './envoy-config.ts';
import type { GrpcService } from './grpc-server.ts';
import { METADATA, NOTES } from './request-notes.ts';

/** A worker in Envoy's form. */
export interface DiscoveredEndpoint {
  /** Address, `ip:port`. */
  readonly address: string;
  /** Name that its certificate must prove, if the group uses TLS. */
  readonly dnsName: string | undefined;
}

/** Certificate of Envoy at the workers of a group, and the authorities of the workers' certificates. PEM. */
export interface ClientIdentity {
  readonly certificate: string;
  readonly key: Secret;
  readonly authorities: string;
}

/** A group in Envoy's form. */
export interface DiscoveredGroup {
  /** Name of the cluster: the key of the group. */
  readonly key: string;
  /** Each worker once, including draining ones. */
  readonly endpoints: readonly DiscoveredEndpoint[];
  /** Undefined if workers are reached without TLS. */
  readonly identity: ClientIdentity | undefined;
}

export interface DiscoveryOptions {
  readonly log: Logger;
  /** Called when Envoy has accepted new endpoints, or has disconnected. */
  readonly onAccepted: () => void;
  /** Called when the only Envoy has just started: it has no configuration yet. */
  readonly onFresh: () => void;
}

type Stream = ServerDuplexStream<DiscoveryRequest, DiscoveryResponse>;

const CLUSTERS = typeUrl(ClusterSchema);
const ENDPOINTS = typeUrl(ClusterLoadAssignmentSchema);
const SECRETS = typeUrl(SecretSchema);

interface Subscription {
  names: string;
  sent: number;
  nonce: string;
  accepted: number;
}

/**
 * Sends clusters and endpoints to every connected Envoy (ADS, state of the world). An address is known when each of
 * them has accepted it: until then no request may be sent there.
 */
export class Discovery {
  readonly service: GrpcService;
  readonly #log: Logger;
  readonly #onAccepted: () => void;
  readonly #onFresh: () => void;
  readonly #streams = new Map<Stream, Map<string, Subscription>>();
  /** First version that contained an endpoint, by address within its group. */
  #since = new Map<string, number>();
  #resources: Readonly<Record<string, readonly Any[]>> = { [CLUSTERS]: [], [ENDPOINTS]: [], [SECRETS]: [] };
  /** Groups with TLS. */
  #secured: ReadonlySet<string> = new Set();
  #known: readonly DiscoveredGroup[] = [];
  #version = 1;

  constructor({ log, onAccepted, onFresh }: DiscoveryOptions) {
    this.#onFresh = onFresh;
    this.#log = log;
    this.#onAccepted = onAccepted;
    this.service = {
      service: AggregatedDiscoveryService,
      handlers: { StreamAggregatedResources: (stream: Stream) => this.#open(stream) },
    };
  }

  /** Sets the groups that Envoy receives. */
  set(groups: readonly DiscoveredGroup[]): void {
    if (isDeepStrictEqual(groups, this.#known) && haveSameKeys(groups, this.#known)) return;
    this.#known = groups;
    this.#version++;
    const since = new Map<string, number>();
    for (const { key, endpoints } of groups)
      for (const { address, dnsName } of endpoints) {
        const name = nameOf(key, { address, dnsName });
        since.set(name, this.#since.get(name) ?? this.#version);
      }
    this.#since = since;
    this.#secured = new Set(groups.flatMap(({ key, identity }) => (identity ? [key] : [])));
    this.#resources = {
      [CLUSTERS]: groups.map(clusterOf),
      [ENDPOINTS]: groups.map(assignmentOf),
      [SECRETS]: groups.flatMap(secretsOf),
    };
    for (const stream of this.#streams.keys())
      for (const type of [CLUSTERS, SECRETS, ENDPOINTS]) this.#send(stream, type);
  }

  /** Returns true if at least one Envoy is connected and every one of them knows that worker of that group. */
  knows(key: string, endpoint: DiscoveredEndpoint): boolean {
    const since = this.#since.get(nameOf(key, endpoint));
    if (since === undefined || this.#streams.size === 0) return false;
    const types = this.#secured.has(key) ? [ENDPOINTS, SECRETS] : [ENDPOINTS];
    return [...this.#streams.values()].every((subscriptions) =>
      types.every((type) => (subscriptions.get(type)?.accepted ?? 0) >= since),
    );
  }

  isConnected(): boolean {
    return this.#streams.size > 0;
  }

  #open(stream: Stream): void {
    this.#streams.set(stream, new Map());
    const close = (): void => {
      if (this.#streams.delete(stream)) this.#onAccepted();
    };
    stream.on('data', (request: DiscoveryRequest) => this.#take(stream, request));
    stream.on('cancelled', close);
    stream.on('error', close);
    stream.on('end', () => {
      close();
      stream.end();
    });
  }

  #take(stream: Stream, request: DiscoveryRequest): void {
    const { typeUrl: type, responseNonce: nonce, errorDetail } = request;
    const subscriptions = this.#streams.get(stream);
    if (!subscriptions || this.#resources[type] === undefined) return;
    if (type === CLUSTERS && nonce === '' && request.versionInfo === '' && this.#streams.size === 1)
      this.#onFresh();
    const names = request.resourceNames.toSorted().join(' ');
    const known = subscriptions.get(type) ?? { names, sent: 0, nonce: '', accepted: 0 };
    subscriptions.set(type, known);
    // An acknowledgement of an older response does not concern the last one.
    if (nonce !== '' && nonce !== known.nonce) return;
    if (errorDetail)
      this.#log.error('Envoy refuses its configuration', { type, problem: errorDetail.message });
    else if (nonce !== '') known.accepted = known.sent;
    const hasOthers = known.names !== names;
    known.names = names;
    if (nonce === '' || hasOthers || known.sent < this.#version) this.#send(stream, type);
    else if (type !== CLUSTERS) this.#onAccepted();
  }

  #send(stream: Stream, type: string): void {
    const subscription = this.#streams.get(stream)?.get(type);
    if (!subscription) return;
    const nonce = `${this.#version}-${Number(subscription.nonce.split('-')[1] ?? 0) + 1}`;
    Object.assign(subscription, { sent: this.#version, nonce });
    const resources = [...(this.#resources[type] ?? [])];
    const versionInfo = String(this.#version);
    stream.write(create(DiscoveryResponseSchema, { versionInfo, resources, typeUrl: type, nonce }));
  }
}

/** Returns the name of an endpoint: another worker at the same address is another endpoint. */
function nameOf(key: string, { address, dnsName = '' }: DiscoveredEndpoint): string {
  return `${key} ${address} ${dnsName}`;
}

function typeUrl({ typeName }: DescMessage): string {
  return `type.googleapis.com/${typeName}`;
}

function extension<Desc extends DescMessage>(name: string, desc: Desc, message: MessageShape<Desc>) {
  return { typedExtensionConfig: { name, typedConfig: anyPack(desc, message) } };
}

/** Above the maximum of a picker: its own limits apply. */
const MAX = 1_000_000;

const overAds = {
  configSourceSpecifier: { case: 'ads' as const, value: {} },
  resourceApiVersion: ApiVersion.V3,
};

/** Returns the name of Envoy's secret with its own certificate. */
const shownName = (key: string): string => `${key}/client`;
const believedName = (key: string): string => `${key}/authorities`;

/**
 * Returns the TLS settings of a group, which prove both sides. Envoy verifies each worker by the name of its endpoint:
 * a certificate of another group or another worker fails. A new certificate arrives as a secret and breaks no
 * connection.
 */
function socketOf({ key }: DiscoveredGroup) {
  const { TLSv1_2, TLSv1_3 } = TlsParameters_TlsProtocol;
  const context = create(UpstreamTlsContextSchema, {
    commonTlsContext: {
      tlsParams: { tlsMinimumProtocolVersion: TLSv1_2, tlsMaximumProtocolVersion: TLSv1_3 },
      tlsCertificateSdsSecretConfigs: [{ name: shownName(key), sdsConfig: overAds }],
      validationContextType: {
        case: 'validationContextSdsSecretConfig',
        value: { name: believedName(key), sdsConfig: overAds },
      },
    },
    autoHostSni: true,
    autoSniSanValidation: true,
  });
  const value = anyPack(UpstreamTlsContextSchema, context);
  return { name: 'envoy.transport_sockets.tls', configType: { case: 'typedConfig' as const, value } };
}

function secretsOf({ key, identity }: DiscoveredGroup): readonly Any[] {
  if (!identity) return [];
  const shown = create(SecretSchema, {
    name: shownName(key),
    type: {
      case: 'tlsCertificate',
      value: { certificateChain: inline(identity.certificate), privateKey: inline(identity.key.reveal()) },
    },
  });
  const believed = create(SecretSchema, {
    name: believedName(key),
    type: { case: 'validationContext', value: { trustedCa: inline(identity.authorities) } },
  });
  return [shown, believed].map((secret) => anyPack(SecretSchema, secret));
}

function inline(text: string) {
  return { specifier: { case: 'inlineBytes' as const, value: new TextEncoder().encode(text) } };
}

/** Serializes a key for comparison: without revealing the values, all keys would be equal. */
function haveSameKeys(groups: readonly DiscoveredGroup[], others: readonly DiscoveredGroup[]): boolean {
  return groups.every(({ identity }, at) => {
    const other = others[at]?.identity;
    return !identity || !other || identity.key.equals(other.key);
  });
}

const HTTP_OPTIONS = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
/**
 * Idle time after which Envoy closes a connection to a worker. Servers also close idle ones: uvicorn (and so vLLM)
 * and Node after 5 s. A request sent at that moment fails and is not retried, since the worker may have begun it.
 */
const IDLE_S = 4n;
const httpOptions = anyPack(
  HttpProtocolOptionsSchema,
  create(HttpProtocolOptionsSchema, {
    commonHttpProtocolOptions: { idleTimeout: { seconds: IDLE_S } },
    upstreamProtocolOptions: {
      case: 'explicitHttpConfig',
      value: { protocolConfig: { case: 'httpProtocolOptions', value: {} } },
    },
  }),
);

function clusterOf(group: DiscoveredGroup): Any {
  const { key } = group;
  const roundRobin = extension(
    'envoy.load_balancing_policies.round_robin',
    RoundRobinSchema,
    create(RoundRobinSchema),
  );
  // The fallback is a worker of the same group if the chosen one left between pick and connection.
  const byPicker = create(OverrideHostSchema, {
    overrideHostSources: [
      { metadata: { key: METADATA, path: [{ segment: { case: 'key', value: NOTES.destination } }] } },
    ],
    fallbackPolicy: { policies: [roundRobin] },
  });
  const cluster = create(ClusterSchema, {
    name: key,
    clusterDiscoveryType: { case: 'type', value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: overAds },
    ...(group.identity && { transportSocket: socketOf(group) }),
    connectTimeout: { seconds: 5n },
    // For a response that its client reads slowly.
    perConnectionBufferLimitBytes: BUFFER_BYTES,
    circuitBreakers: {
      thresholds: [{ maxConnections: MAX, maxPendingRequests: MAX, maxRequests: MAX, maxRetries: MAX }],
    },
    typedExtensionProtocolOptions: { [HTTP_OPTIONS]: httpOptions },
    loadBalancingPolicy: {
      policies: [extension('envoy.load_balancing_policies.override_host', OverrideHostSchema, byPicker)],
    },
  });
  return anyPack(ClusterSchema, cluster);
}

function assignmentOf({ key, endpoints: discovered }: DiscoveredGroup): Any {
  const lbEndpoints = discovered.map(({ address, dnsName = '' }) => {
    const colon = address.lastIndexOf(':');
    const value = {
      address: address.slice(0, colon).replace(/^\[|\]$/g, ''),
      portSpecifier: { case: 'portValue' as const, value: Number(address.slice(colon + 1)) },
    };
    const endpoint = { hostname: dnsName, address: { address: { case: 'socketAddress' as const, value } } };
    return { hostIdentifier: { case: 'endpoint' as const, value: endpoint } };
  });
  const endpoints = lbEndpoints.length > 0 ? [{ lbEndpoints }] : [];
  return anyPack(
    ClusterLoadAssignmentSchema,
    create(ClusterLoadAssignmentSchema, { clusterName: key, endpoints }),
  );
}
