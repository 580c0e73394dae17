/** Dynamic metadata of one request, shared by the picker, Envoy's filters, its load balancer and its access log. */
export const METADATA = 'gpurental.dev';

/** Keys in that namespace, set by the picker. */
export const NOTES = {
  /** Id of the request in the picker, for the access log. */
  id: 'id',
  /** Workers to try, `ip:port` separated by commas, in this order. */
  destination: 'destination',
  /** Unit of work, if Envoy reads the usage in the response. */
  unit: 'unit',
  /** Headers to set on the response, by name. */
  responseHeaders: 'response_headers',
} as const;

export const UNIT_TOKENS = 'tokens';

/** Headers with which the picker selects the routes of its own Envoy. */
export const CLUSTER_HEADER = 'x-gateway-cluster';
export const RETRY_HEADER = 'x-gateway-retry';

/** Header with the work of a request, set by its caller. */
export const WORK_HEADER = 'x-gpurental-work';
/** Headers with the session of a request; the first one present counts. */
export const SESSION_HEADERS = ['x-gpurental-session', 'x-session-id'] as const;

/**
 * Request headers that the gateway does not forward: addresses of callers and headers for the gateway only. Workers
 * run on hosts of third parties.
 */
export const PRIVATE_HEADERS: readonly string[] = [
  ...[CLUSTER_HEADER, RETRY_HEADER, WORK_HEADER, SESSION_HEADERS[0]],
  ...['x-forwarded-for', 'x-real-ip', 'forwarded', 'via', 'x-client-ip', 'true-client-ip'],
  ...['x-original-forwarded-for', 'x-cluster-client-ip', 'cf-connecting-ip', 'fastly-client-ip'],
  ...['x-forwarded-host', 'x-forwarded-port', 'x-forwarded-server'],
  ...['x-envoy-external-address', 'x-envoy-internal', 'x-envoy-peer-metadata', 'x-envoy-peer-metadata-id'],
];

/** Headers that the picker reads; Envoy sends no others, which would only cost time. */
export const READ_HEADERS = [
  ...([
    ':method',
    ':path',
    ':authority',
    'authorization',
    'content-type',
    'content-length',
    'x-request-id',
    'x-forwarded-for',
    'origin',
    'upgrade',
    'access-control-request-method',
    'access-control-request-headers',
  ] as const),
  ...([WORK_HEADER, ...SESSION_HEADERS] as const),
] as const;
export type ReadHeader = (typeof READ_HEADERS)[number];
