import { isIP } from 'node:net';
import { METADATA, USAGE_FILTER } from './usage-filter.ts';

/** Names the cluster of a request: the group. Set by the picker alone. */
export const CLUSTER_HEADER = 'x-gateway-cluster';
/** Where a request goes: `ip:port`, several separated by commas, tried in this order. Set by the picker alone. */
export const DESTINATION_HEADER = 'x-gateway-destination-endpoint';
/** By this id the access log names a request. Set by the picker alone. */
export const REQUEST_ID_HEADER = 'x-gateway-request-id';

/** Says what a request counts as. */
export const WORK_HEADER = 'x-gpurental-work';
/** What names the session of a request, the first of them that is there. */
export const SESSION_HEADERS = ['x-gpurental-session', 'x-session-id'] as const;
/** All that the picker reads of a request, and so all that Envoy sends it: others would only cost time there. */
const READ_HEADERS = [
  ...([
    ':method',
    ':path',
    ':authority',
    'authorization',
    'content-type',
    'content-length',
    'x-request-id',
  ] as const),
  ...([WORK_HEADER, ...SESSION_HEADERS] as const),
] as const;
export type ReadHeader = (typeof READ_HEADERS)[number];

export interface SocketPlace {
  /** An IP address, or a name of what is called; empty: all addresses of this machine. */
  readonly host: string;
  readonly port: number;
}

export interface BootstrapOptions {
  /** Where clients call. */
  readonly listen: SocketPlace;
  /** The gRPC services of the picker. */
  readonly picker: SocketPlace;
  /** The path of a Unix socket for the admin interface, which has no password; none where absent. */
  readonly adminSocket?: string;
}

/** Longer than any hold (55 min), in seconds; a message_timeout may be one hour at most. */
const MAX_WAIT_S = 3660;
/** Of a body that waits with its request, is sent again by a retry, and is shown to the picker. */
const BODY_BYTES = 1_048_576;
const MAX_REQUESTS = 100_000;
const OWNER_ONLY = 0o600;

/**
 * The bootstrap configuration of an Envoy that asks this picker, as JSON: one listener, whose requests the picker holds
 * and routes; clusters and endpoints by discovery from the picker; the end of each request to its access log. A request
 * is tried at most twice more, on the next worker of the picker's list, and never after its response began.
 */
export function envoyBootstrap({ listen, picker, adminSocket }: BootstrapOptions): string {
  const config = {
    node: { id: 'gpu-rent-gateway', cluster: 'gpu-rent-gateway' },
    ...(adminSocket !== undefined && {
      admin: { address: { pipe: { path: adminSocket, mode: OWNER_ONLY } } },
    }),
    dynamic_resources: {
      ads_config: { api_type: 'GRPC', transport_api_version: 'V3', grpc_services: [pickerService] },
      cds_config: { ads: {}, resource_api_version: 'V3' },
    },
    static_resources: {
      listeners: [listener(listen)],
      clusters: [pickerCluster(picker)],
    },
    layered_runtime: {
      layers: [
        {
          name: 'static',
          // A stream to the picker is closed where it would be reset: the HTTP/2 server of the picker bears few resets.
          static_layer: { 'envoy.reloadable_features.ext_proc_graceful_grpc_close': true },
        },
      ],
    },
    overload_manager: {
      resource_monitors: [
        {
          name: 'envoy.resource_monitors.global_downstream_max_connections',
          typed_config: {
            '@type': `${EXTENSIONS}.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig`,
            max_active_downstream_connections: MAX_REQUESTS,
          },
        },
      ],
    },
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

const EXTENSIONS = 'type.googleapis.com/envoy.extensions';
const PICKER = 'picker';
const pickerService = { envoy_grpc: { cluster_name: PICKER } };

function socket({ host, port }: SocketPlace): unknown {
  return { socket_address: { address: host === '' ? '0.0.0.0' : host, port_value: port } };
}

function pickerCluster(picker: SocketPlace): unknown {
  const resolution = isIP(picker.host)
    ? { type: 'STATIC' }
    : { type: 'STRICT_DNS', dns_lookup_family: 'V4_PREFERRED' };
  return {
    name: PICKER,
    ...resolution,
    connect_timeout: '1s',
    load_assignment: {
      cluster_name: PICKER,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(picker) } }] }],
    },
    // Each held request is a stream.
    circuit_breakers: {
      thresholds: [{ max_requests: MAX_REQUESTS, max_pending_requests: MAX_REQUESTS }],
    },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
        explicit_http_config: {
          http2_protocol_options: {
            max_concurrent_streams: MAX_REQUESTS,
            connection_keepalive: { interval: '10s', timeout: '5s' },
          },
        },
      },
    },
  };
}

function listener(listen: SocketPlace): unknown {
  return {
    name: 'requests',
    address: socket(listen),
    per_connection_buffer_limit_bytes: BODY_BYTES,
    filter_chains: [
      { filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] },
    ],
  };
}

const manager = {
  '@type': `${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
  stat_prefix: 'requests',
  // A stream may be silent for as long as a request may wait.
  stream_idle_timeout: `${MAX_WAIT_S}s`,
  request_headers_timeout: '10s',
  normalize_path: true,
  merge_slashes: false,
  path_with_escaped_slashes_action: 'REJECT_REQUEST',
  use_remote_address: true,
  upgrade_configs: [{ upgrade_type: 'websocket' }],
  access_log: [
    {
      name: 'envoy.access_loggers.http_grpc',
      typed_config: {
        '@type': `${EXTENSIONS}.access_loggers.grpc.v3.HttpGrpcAccessLogConfig`,
        common_config: {
          log_name: 'requests',
          transport_api_version: 'V3',
          grpc_service: pickerService,
          buffer_flush_interval: '0.05s',
          buffer_size_bytes: 4096,
        },
        additional_request_headers_to_log: [REQUEST_ID_HEADER],
      },
    },
  ],
  route_config: {
    name: 'requests',
    virtual_hosts: [
      {
        name: 'groups',
        domains: ['*'],
        routes: [
          {
            match: { prefix: '/' },
            route: {
              cluster_header: CLUSTER_HEADER,
              timeout: '0s',
              retry_policy: {
                retry_on: 'connect-failure,refused-stream,reset-before-request,retriable-status-codes',
                retriable_status_codes: [503],
                num_retries: 2,
                host_selection_retry_max_attempts: 3,
              },
            },
          },
        ],
      },
    ],
  },
  http_filters: [
    {
      name: 'envoy.filters.http.ext_proc',
      typed_config: {
        '@type': `${EXTENSIONS}.filters.http.ext_proc.v3.ExternalProcessor`,
        grpc_service: { ...pickerService, timeout: `${MAX_WAIT_S}s` },
        message_timeout: '3600s',
        processing_mode: {
          request_header_mode: 'SEND',
          response_header_mode: 'SKIP',
          request_body_mode: 'NONE',
          response_body_mode: 'NONE',
          request_trailer_mode: 'SKIP',
          response_trailer_mode: 'SKIP',
        },
        forward_rules: { allowed_headers: { patterns: READ_HEADERS.map((exact) => ({ exact })) } },
        failure_mode_allow: false,
        // The picker asks for the body of some requests, and says of which ones the response is to be read.
        allow_mode_override: true,
        metadata_options: { receiving_namespaces: { untyped: [METADATA] } },
      },
    },
    {
      name: 'envoy.filters.http.lua',
      typed_config: {
        '@type': `${EXTENSIONS}.filters.http.lua.v3.Lua`,
        default_source_code: { inline_string: USAGE_FILTER },
      },
    },
    {
      name: 'envoy.filters.http.router',
      typed_config: { '@type': `${EXTENSIONS}.filters.http.router.v3.Router` },
    },
  ],
};
