import { isIP } from 'node:net';
import { CONNECTION_KEY } from './connection-limit.ts';
import { REQUEST_FILTER } from './request-filter.ts';
import { CLUSTER_HEADER, METADATA, PRIVATE_HEADERS, READ_HEADERS, RETRY_HEADER } from './request-notes.ts';
import { RESPONSE_FILTER } from './response-filter.ts';

export interface SocketPlace {
  /** An IP address or host name; empty: all addresses of this machine. */
  readonly host: string;
  readonly port: number;
}

export interface BootstrapOptions {
  /** Address for clients. */
  readonly listen: SocketPlace;
  /** Address of the picker's gRPC services. */
  readonly picker: SocketPlace;
  /** Path of a Unix socket for the admin interface, which has no password; without a path there is none. */
  readonly adminSocket?: string;
  /** Heap in bytes at which Envoy sheds all possible load; default {@link DEFAULT_HEAP_BYTES}. */
  readonly maxHeapBytes?: number;
  /** Number of proxies in front of Envoy whose `x-forwarded-for` it trusts; default 0. */
  readonly trustedHops?: number;
  /** Idle time in milliseconds after which Envoy closes a client's connection; default 5 min. */
  readonly idleTimeoutMs?: number;
  /** Maximum connections of all clients; default {@link MAX_CONNECTIONS}. */
  readonly maxConnections?: number | undefined;
  /** Interval in milliseconds of Envoy's reports on running requests; default 15 s. */
  readonly progressMs?: number;
}

/** Longer than any hold (55 min), in seconds; a message_timeout may be at most one hour. */
const MAX_WAIT_S = 3660;
/**
 * Maximum bytes of a body that Envoy buffers: while its request waits, for a retry, and for the picker that reads it.
 */
export const BUFFER_BYTES = 131_072;
/** Memory limit of the container in the chart is 512 MiB. The rest is for stacks, code and recently freed memory. */
export const DEFAULT_HEAP_BYTES = 384 * 1_048_576;
const DEFAULT_IDLE_MS = 300_000;
const DEFAULT_PROGRESS_MS = 15_000;
/** Maximum streams of one HTTP/2 connection. */
const STREAMS_PER_CONNECTION = 100;
const HTTP2_CONNECTION_WINDOW = 1_048_576;
/** Maximum connections of all clients. */
export const MAX_CONNECTIONS = 10_000;
const MAX_REQUESTS = 100_000;
/**
 * Maximum frames that Envoy queues for a busy picker. At the default of 1,000 control frames it closes the connection,
 * with all waiting requests, if a thousand streams are reset at once.
 */
const MAX_QUEUED_FRAMES = 10 * MAX_REQUESTS;
const OWNER_ONLY = 0o600;

/**
 * Returns the bootstrap configuration of an Envoy with this picker, as JSON. It has one listener, whose requests the
 * picker holds and routes; clusters and endpoints from the picker's discovery; and an access log that reports the end
 * of each request. A request is retried at most twice, on the next worker of the picker's list, and never after its
 * response began. Memory is bounded: each body by {@link BUFFER_BYTES}, the total by `maxHeapBytes`.
 */
export function envoyBootstrap(options: BootstrapOptions): string {
  const { picker, adminSocket } = options;
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
      listeners: [listener(options)],
      clusters: [pickerCluster(picker)],
    },
    layered_runtime: {
      layers: [
        {
          name: 'static',
          // A stream to the picker is closed instead of reset: the picker's HTTP/2 server tolerates few resets.
          static_layer: { 'envoy.reloadable_features.ext_proc_graceful_grpc_close': true },
        },
      ],
    },
    overload_manager: overloadManager(options),
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

const EXTENSIONS = 'type.googleapis.com/envoy.extensions';
const PICKER = 'picker';
const pickerService = { envoy_grpc: { cluster_name: PICKER } };

const HEAP = 'envoy.resource_monitors.fixed_heap';

/**
 * Actions by the share of the heap in use. Envoy refuses new requests before it resets a running one, and first resets
 * the streams with the largest buffers: one client cannot end the requests of all.
 */
function overloadManager({
  maxHeapBytes = DEFAULT_HEAP_BYTES,
  maxConnections = MAX_CONNECTIONS,
}: BootstrapOptions): unknown {
  const action = (name: string, trigger: object, config?: object): unknown => ({
    name: `envoy.overload_actions.${name}`,
    triggers: [{ name: HEAP, ...trigger }],
    ...config,
  });
  const from = (value: number) => ({ threshold: { value } });
  const between = (scaling_threshold: number, saturation_threshold: number) => ({
    scaled: { scaling_threshold, saturation_threshold },
  });
  return {
    refresh_interval: '0.1s',
    buffer_factory_config: { minimum_account_to_track_power_of_two: SMALLEST_TRACKED_POWER },
    resource_monitors: [
      {
        name: HEAP,
        typed_config: {
          '@type': `${EXTENSIONS}.resource_monitors.fixed_heap.v3.FixedHeapConfig`,
          max_heap_size_bytes: maxHeapBytes,
        },
      },
      {
        name: 'envoy.resource_monitors.global_downstream_max_connections',
        typed_config: {
          '@type': `${EXTENSIONS}.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig`,
          max_active_downstream_connections: maxConnections,
        },
      },
    ],
    actions: [
      action('reduce_timeouts', between(0.7, 0.9), {
        typed_config: {
          '@type': 'type.googleapis.com/envoy.config.overload.v3.ScaleTimersOverloadActionConfig',
          timer_scale_factors: [{ timer: 'HTTP_DOWNSTREAM_CONNECTION_IDLE', min_timeout: '2s' }],
        },
      }),
      action('shrink_heap', from(0.8)),
      action('disable_http_keepalive', from(0.85)),
      action('stop_accepting_requests', from(0.9)),
      action('stop_accepting_connections', from(0.95)),
      action('reset_high_memory_stream', between(0.95, 1)),
    ],
  };
}

/** A stream with less than 2^16 bytes is not reset for its memory. */
const SMALLEST_TRACKED_POWER = 16;

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
            max_outbound_frames: MAX_QUEUED_FRAMES,
            max_outbound_control_frames: MAX_QUEUED_FRAMES,
            connection_keepalive: { interval: '10s', timeout: '5s' },
          },
        },
      },
    },
  };
}

function listener(options: BootstrapOptions): unknown {
  // A connection of a trusted proxy carries requests of many clients.
  const isProxied = (options.trustedHops ?? 0) > 0;
  return {
    name: 'requests',
    address: socket(options.listen),
    per_connection_buffer_limit_bytes: BUFFER_BYTES,
    ...(!isProxied && { access_log: connectionLog }),
    filter_chains: [
      {
        filters: [
          ...(isProxied ? [] : [connectionLimit]),
          { name: 'envoy.filters.network.http_connection_manager', typed_config: managerOf(options) },
        ],
      },
    ],
  };
}

/**
 * The picker counts connections by client: this filter reports each new one, and {@link connectionLog} its end. The
 * start distinguishes a connection from an earlier one of the same port, whose end may be logged after it.
 */
const connectionLimit = {
  name: 'envoy.filters.network.ratelimit',
  typed_config: {
    '@type': `${EXTENSIONS}.filters.network.ratelimit.v3.RateLimit`,
    stat_prefix: 'connections',
    domain: 'connections',
    descriptors: [
      {
        entries: [{ key: CONNECTION_KEY, value: '%DOWNSTREAM_DIRECT_REMOTE_ADDRESS% %START_TIME(%s.%9f)%' }],
      },
    ],
    timeout: '10s',
    rate_limit_service: { transport_api_version: 'V3', grpc_service: pickerService },
  },
};

const connectionLog = [
  {
    name: 'envoy.access_loggers.tcp_grpc',
    typed_config: {
      '@type': `${EXTENSIONS}.access_loggers.grpc.v3.TcpGrpcAccessLogConfig`,
      common_config: logConfig('connections'),
    },
  },
];

function logConfig(log_name: string): unknown {
  return {
    log_name,
    transport_api_version: 'V3',
    grpc_service: pickerService,
    buffer_flush_interval: '0.05s',
    buffer_size_bytes: 4096,
  };
}

/** Retry conditions. After `reset-before-request` and `refused-stream` the worker has not seen the request. */
const UNSEEN = 'connect-failure,refused-stream,reset-before-request';
/** Sizes in the order of the routes; the last one is also for requests without that header. */
const RETRY_POLICIES = {
  Full: { retry_on: `${UNSEEN},retriable-status-codes`, retriable_status_codes: [503] },
  Unseen: { retry_on: UNSEEN },
  None: undefined,
} as const;
/** Maximum retries of one request; the picker decides by {@link RETRY_HEADER}. */
export type RetryPolicy = keyof typeof RETRY_POLICIES;

const routes = Object.entries(RETRY_POLICIES).map(([name, policy]) => ({
  match: { prefix: '/', ...(policy && { headers: [{ name: RETRY_HEADER, string_match: { exact: name } }] }) },
  route: {
    cluster_header: CLUSTER_HEADER,
    timeout: '0s',
    ...(policy && { retry_policy: { ...policy, num_retries: 2, host_selection_retry_max_attempts: 3 } }),
  },
}));

function managerOf(options: BootstrapOptions): unknown {
  const { trustedHops = 0, idleTimeoutMs = DEFAULT_IDLE_MS, progressMs = DEFAULT_PROGRESS_MS } = options;
  return {
    '@type': `${EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'requests',
    common_http_protocol_options: { idle_timeout: `${idleTimeoutMs / 1000}s` },
    // nginx before 1.29 uses HTTP/1.0 towards its upstreams.
    http_protocol_options: { accept_http_10: true, default_host_for_http_10: 'gateway' },
    http2_protocol_options: {
      max_concurrent_streams: STREAMS_PER_CONNECTION,
      initial_stream_window_size: BUFFER_BYTES,
      initial_connection_window_size: HTTP2_CONNECTION_WINDOW,
    },
    // A stream may be silent for as long as a request may wait.
    stream_idle_timeout: `${MAX_WAIT_S}s`,
    // Timeout of the whole request including its wait. A body that arrives slowly is never idle; the picker ends it
    // earlier.
    request_timeout: `${MAX_WAIT_S}s`,
    request_headers_timeout: '10s',
    stream_flush_timeout: '300s',
    normalize_path: true,
    merge_slashes: false,
    path_with_escaped_slashes_action: 'REJECT_REQUEST',
    use_remote_address: true,
    xff_num_trusted_hops: trustedHops,
    // These headers of a client would control Envoy, or reach the worker.
    early_header_mutation_extensions: [
      {
        name: 'envoy.http.early_header_mutation.header_mutation',
        typed_config: {
          '@type': `${EXTENSIONS}.http.early_header_mutation.header_mutation.v3.HeaderMutation`,
          mutations: ['x-envoy-', 'x-gateway-'].map((prefix) => ({
            remove_on_match: { key_matcher: { prefix } },
          })),
        },
      },
    ],
    upgrade_configs: [{ upgrade_type: 'websocket' }],
    access_log: [
      {
        name: 'envoy.access_loggers.http_grpc',
        typed_config: {
          '@type': `${EXTENSIONS}.access_loggers.grpc.v3.HttpGrpcAccessLogConfig`,
          common_config: logConfig('requests'),
        },
      },
    ],
    // Reports to the picker that the body of a request has arrived.
    access_log_options: { access_log_flush_interval: `${progressMs / 1000}s` },
    route_config: {
      name: 'requests',
      request_headers_to_remove: PRIVATE_HEADERS,
      virtual_hosts: [{ name: 'groups', domains: ['*'], routes }],
    },
    http_filters: httpFilters,
  };
}

const httpFilters = [
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
      // If the picker fails, requests that already have a worker continue; the next filter refuses requests without
      // one.
      failure_mode_allow: true,
      // The picker requests the body of some requests, and marks requests whose response must be read.
      allow_mode_override: true,
      metadata_options: { receiving_namespaces: { untyped: [METADATA] } },
    },
  },
  {
    name: 'envoy.filters.http.lua',
    typed_config: {
      '@type': `${EXTENSIONS}.filters.http.lua.v3.Lua`,
      default_source_code: { inline_string: `${REQUEST_FILTER}${RESPONSE_FILTER}` },
    },
  },
  {
    name: 'envoy.filters.http.router',
    typed_config: {
      '@type': `${EXTENSIONS}.filters.http.router.v3.Router`,
      suppress_envoy_headers: true,
    },
  },
];
