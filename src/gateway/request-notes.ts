/** Dynamic metadata that the picker, the filters of Envoy, its load balancer and its access log share of one request. */
export const METADATA = 'gpurental.dev';

/** Keys in that namespace, set by the picker. */
export const NOTES = {
  /** Id of the request in the picker, for the access log. */
  id: 'id',
  /** Workers to try, `ip:port` with commas between, in this order. */
  destination: 'destination',
  /** Unit of work, if Envoy reads the usage in the response. */
  unit: 'unit',
  /** Headers to set on the response, by name. */
  responseHeaders: 'response_headers',
} as const;

export const UNIT_TOKENS = 'tokens';

/** Headers by which the picker steers the routes of its own Envoy. */
export const CLUSTER_HEADER = 'x-gateway-cluster';
export const RETRY_HEADER = 'x-gateway-retry';

/** Work of a request, by its caller. */
export const WORK_HEADER = 'x-gpurental-work';
/** Session of a request; the first header that is present counts. */
export const SESSION_HEADERS = ['x-gpurental-session', 'x-session-id'] as const;

/**
 * Request headers that stop at the gateway: addresses of callers and headers for the gateway alone. A worker runs on a
 * host of a stranger.
 */
export const PRIVATE_HEADERS: readonly string[] = [
  ...[CLUSTER_HEADER, RETRY_HEADER, WORK_HEADER, SESSION_HEADERS[0]],
  ...['x-forwarded-for', 'x-real-ip', 'forwarded', 'via', 'x-client-ip', 'true-client-ip'],
  ...['x-original-forwarded-for', 'x-cluster-client-ip', 'cf-connecting-ip', 'fastly-client-ip'],
  ...['x-forwarded-host', 'x-forwarded-port', 'x-forwarded-server'],
  ...['x-envoy-external-address', 'x-envoy-internal', 'x-envoy-peer-metadata', 'x-envoy-peer-metadata-id'],
];

/** Headers that the picker reads; Envoy sends it no other ones, which would only cost time there. */
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
