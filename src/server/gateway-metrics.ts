import type { MetricRegistry } from './metric-registry.ts';

interface GroupRef {
  readonly namespace: string;
  readonly name: string;
}

interface ServedRequest {
  readonly caller: string;
  readonly status: number;
  readonly work: number;
  readonly unit: 'Requests' | 'OpenAITokens' | 'Header';
  readonly retries: number;
  readonly firstByteMs: number | undefined;
}

/** Receives events of requests from a picker. A caller is named by its key, and is empty without keys. */
export interface GatewayRequestMetrics {
  picked(group: GroupRef, waitMs: number): void;
  served(group: GroupRef, request: ServedRequest): void;
  refused(group: GroupRef, code: string): void;
  left(group: GroupRef): void;
  woke(group: GroupRef): void;
  refusedConnection(): void;
}

/** Figures that are read at each exposition. */
export interface GatewayGroupFigures extends GroupRef {
  readonly heldRequests: number;
  readonly inFlightRequests: number;
  readonly readyWorkers: number;
}

/** Buckets from an immediate pick to a machine that had to be rented and booted. */
const WAIT_BUCKETS = [0.001, 0.01, 0.1, 1, 5, 10, 30, 60, 120, 300, 600, 3600];
const FIRST_BYTE_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

const GROUP_LABELS = ['namespace', 'name'] as const;
const UNITS = { Requests: 'requests', OpenAITokens: 'tokens', Header: 'header' } as const;

const REQUESTS = {
  name: 'gpu_rental_gateway_requests_total',
  help: 'Finished requests for which a worker was picked, by caller and status; 0 is a client that disconnected.',
  labelNames: [...GROUP_LABELS, 'caller', 'code'],
} as const;
const WORK = {
  name: 'gpu_rental_gateway_work_total',
  help: 'Work of finished requests, by caller and unit: requests, tokens, or the value of the header.',
  labelNames: [...GROUP_LABELS, 'caller', 'unit'],
} as const;
const PICKS = {
  name: 'gpu_rental_gateway_picks_total',
  help: 'Requests for which a worker was picked.',
  labelNames: GROUP_LABELS,
} as const;
const WAITS = {
  name: 'gpu_rental_gateway_wait_seconds',
  help: 'Time for which requests were held before a worker was picked.',
  labelNames: GROUP_LABELS,
} as const;
const FIRST_BYTES = {
  name: 'gpu_rental_gateway_first_byte_seconds',
  help: 'Time from the arrival of a request to the first byte of its response.',
  labelNames: GROUP_LABELS,
} as const;
const RETRIES = {
  name: 'gpu_rental_gateway_retries_total',
  help: 'Retries on another worker before the first byte of the response.',
  labelNames: GROUP_LABELS,
} as const;
const REFUSALS = {
  name: 'gpu_rental_gateway_refusals_total',
  help: 'Requests that the picker refused, by the code in the body.',
  labelNames: [...GROUP_LABELS, 'code'],
} as const;
const LEFT = {
  name: 'gpu_rental_gateway_left_total',
  help: 'Requests whose client disconnected while they were held.',
  labelNames: GROUP_LABELS,
} as const;
const WAKES = {
  name: 'gpu_rental_gateway_wakes_total',
  help: 'Requests to the operator to start workers immediately.',
  labelNames: GROUP_LABELS,
} as const;

const REFUSED_CONNECTIONS = {
  name: 'gpu_rental_gateway_refused_connections_total',
  help: 'Connections that Envoy closed because one client used too large a share of them.',
  labelNames: [],
} as const;

/** Creates the families of one picker. */
export function createGatewayMetrics(registry: MetricRegistry): GatewayRequestMetrics {
  const requests = registry.counter(REQUESTS);
  const work = registry.counter(WORK);
  const picks = registry.counter(PICKS);
  const waits = registry.histogram(WAITS, WAIT_BUCKETS);
  const firstBytes = registry.histogram(FIRST_BYTES, FIRST_BYTE_BUCKETS);
  const retries = registry.counter(RETRIES);
  const refusals = registry.counter(REFUSALS);
  const left = registry.counter(LEFT);
  const wakes = registry.counter(WAKES);
  const refusedConnections = registry.counter(REFUSED_CONNECTIONS);
  return {
    picked(group, waitMs) {
      picks.inc(labelsOf(group));
      waits.observe(labelsOf(group), waitMs / 1000);
    },
    served(group, request) {
      const { caller, status, unit } = request;
      requests.inc({ ...labelsOf(group), caller, code: String(status) });
      work.inc({ ...labelsOf(group), caller, unit: UNITS[unit] }, request.work);
      retries.inc(labelsOf(group), request.retries);
      if (request.firstByteMs !== undefined) firstBytes.observe(labelsOf(group), request.firstByteMs / 1000);
    },
    refused: (group, code) => refusals.inc({ ...labelsOf(group), code }),
    left: (group) => left.inc(labelsOf(group)),
    woke: (group) => wakes.inc(labelsOf(group)),
    refusedConnection: () => refusedConnections.inc(),
  };
}

const FIGURES = [
  {
    name: 'held_requests',
    help: 'Requests held in the picker.',
    read: ({ heldRequests }) => heldRequests,
  },
  {
    name: 'in_flight_requests',
    help: 'Requests in progress on workers through this picker.',
    read: ({ inFlightRequests }) => inFlightRequests,
  },
  { name: 'ready_workers', help: 'Workers that accept requests.', read: ({ readyWorkers }) => readyWorkers },
] as const satisfies readonly {
  readonly name: string;
  readonly help: string;
  readonly read: (figures: GatewayGroupFigures) => number;
}[];

/** Exposes the current figures of the groups of one picker. */
export function showGatewayGroups(
  registry: MetricRegistry,
  groups: () => readonly GatewayGroupFigures[],
): void {
  const gauges = FIGURES.map(({ name, help, read }) => ({
    read,
    gauge: registry.gauge({ name: `gpu_rental_gateway_${name}`, help, labelNames: GROUP_LABELS }),
  }));
  registry.beforeExposition(() => {
    for (const { gauge, read } of gauges) {
      gauge.reset();
      for (const figures of groups()) gauge.set(labelsOf(figures), read(figures));
    }
  });
}

const UNREACHABLE = {
  name: 'gpu_rental_gateway_operator_unreachable_seconds',
  help: 'Seconds since the last report of the picker reached the operator; 0 while reports arrive.',
  labelNames: [],
} as const;

/** Exposes how long the operator of one picker has been unreachable. */
export function showOperatorOutage(registry: MetricRegistry, seconds: () => number): void {
  const gauge = registry.gauge(UNREACHABLE);
  registry.beforeExposition(() => gauge.set(seconds()));
}

function labelsOf({ namespace, name }: GroupRef): GroupRef {
  return { namespace, name };
}
