import * as z from 'zod';

/**
 * Path of the operator for reports of pickers: a POST of a {@link GatewayReport}. Callers need permission to `post` it.
 */
export const GATEWAY_REPORTS_PATH = '/gateway/reports';
/** Maximum bytes of a report's body; a worker needs about a hundred. */
export const MAX_GATEWAY_REPORT_BYTES = 1_048_576;

/** Maximum of a counter: no gateway counts as much in its life, and a larger number would lose its fractions. */
const MAX_COUNT = 2 ** 53;
/** Maximum number of requests, and of their work, at a time. */
const MAX_NOW = 1e12;

const counter = z.number().min(0).max(MAX_COUNT);
const amount = z.number().min(0).max(MAX_NOW);
const requests = z.int().min(0).max(MAX_NOW);
const name = z.string().min(1).max(253);

const workerReport = z.object({
  /** Name of its GpuInstance. */
  name,
  /** Requests in flight through this picker. */
  requests,
  /** Units of work of these requests. */
  work: amount,
  /**
   * Units of work per second that the worker can do, measured at full load. Left out otherwise: the work that a worker
   * gets is not its capacity, and the group would grow without limit by it.
   */
  perf: amount.optional(),
  /** Reason why requests to it fail; left out for a healthy worker. */
  failing: z.string().max(256).optional(),
});

const keysReport = z.object({
  /** `Unread`: not read yet, or the picker has no permission. `Unusable`: no value is a SHA-256. */
  state: z.enum(['Read', 'Unread', 'Missing', 'Unusable']),
  /** Names in the Secret whose values are no SHA-256, the first ten. */
  unusable: z.array(name).max(10),
});

const groupReport = z.object({
  namespace: name,
  name,
  /** Keys of `spec.gateway.keys`; left out for a group without keys, and by older pickers. */
  keys: keysReport.optional(),
  /**
   * Counter: work of all requests that arrived, including refused ones. It never decreases during the picker's life.
   */
  arrivedWork: counter,
  /** Counter: the excess of estimates in `arrivedWork`. The difference is the work that is done or in progress. */
  overestimatedWork: counter,
  /** Counter: the part of `arrivedWork` that was rejected. */
  refusedWork: counter,
  /** Present values, here and below. */
  heldRequests: requests,
  heldWork: amount,
  workers: z.array(workerReport).max(1000),
});

/**
 * Report of one process of `gpu-rent endpoint-picker` on all groups that it serves. Counters begin at 0 with each
 * process, which has a unique name. The operator ignores unknown fields, so either side may be the newer one.
 */
export const gatewayReport = z.object({
  /** Name of the process: that of its Pod with a random suffix. */
  picker: z.string().regex(/^[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,126}[a-zA-Z0-9])?$/),
  /**
   * True until the operator has accepted a report of this process: its counters have increased from 0 since its
   * start. Otherwise an operator that does not know the picker uses the counters as a base, since they may be old.
   */
  first: z.boolean().optional(),
  groups: z.array(groupReport).max(1000),
});

export type GatewayReport = z.output<typeof gatewayReport>;
export type GatewayGroupReport = GatewayReport['groups'][number];

/** Answer of the operator: the state of the other pickers, which share the workers. */
export const gatewayReply = z.object({
  /** Number of pickers that reported lately, including the caller. */
  pickers: z.int().min(1),
  /** The groups of the report that exist. */
  groups: z.array(
    z.object({
      namespace: name,
      name,
      /**
       * Work in flight through the other pickers together, and the largest `perf` that one of them measured. A worker
       * without either is left out.
       */
      workers: z.array(z.object({ name, requests, work: amount, perf: amount.optional() })),
    }),
  ),
});

export type GatewayReply = z.output<typeof gatewayReply>;
