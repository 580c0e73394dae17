import * as z from 'zod';

/** Where the operator takes reports of pickers: a POST of a {@link GatewayReport}. Callers are allowed to `post` it. */
export const GATEWAY_REPORTS_PATH = '/gateway/reports';
/** The longest body of a report, in bytes: a worker takes about a hundred. */
export const MAX_GATEWAY_REPORT_BYTES = 1_048_576;

/** No gateway counts as much in its life: a number above is a mistake, and would lose its fractions. */
const MAX_COUNT = 2 ** 53;
/** No gateway has as many requests, nor so much work, at a time. */
const MAX_NOW = 1e12;

const counter = z.number().min(0).max(MAX_COUNT);
const amount = z.number().min(0).max(MAX_NOW);
const requests = z.int().min(0).max(MAX_NOW);
const name = z.string().min(1).max(253);

const workerReport = z.object({
  /** Of its GpuInstance. */
  name,
  /** In flight through this picker. */
  requests,
  /** Units of work that these requests count as. */
  work: amount,
  /**
   * Units of work per second that the worker can do: measured while it had more to do than that. Left out otherwise, since
   * what a worker is given is not what it can do, and a group would grow for ever by it.
   */
  perf: amount.optional(),
  /** Why requests to it fail; left out for one that does what it should. */
  failing: z.string().max(256).optional(),
});

const keysReport = z.object({
  /** `Unread`: not yet, or the picker may not. `Unusable`: no value is a SHA-256. */
  state: z.enum(['Read', 'Unread', 'Missing', 'Unusable']),
  /** Names in the Secret whose values are no SHA-256, the first ten. */
  unusable: z.array(name).max(10),
});

const groupReport = z.object({
  namespace: name,
  name,
  /** Of `spec.gateway.keys`; left out for a group without, and by older pickers. */
  keys: keysReport.optional(),
  /** Counter: work of all requests that came in, refused ones too. It never falls while the picker lives. */
  arrivedWork: counter,
  /** Counter: what of `arrivedWork` was too much. The difference is the work that was really done or is under way. */
  overestimatedWork: counter,
  /** Counter: the part of `arrivedWork` that was turned away. */
  refusedWork: counter,
  /** Now, as all that follows. */
  heldRequests: requests,
  heldWork: amount,
  workers: z.array(workerReport).max(1000),
});

/**
 * What one process of `gpu-rent endpoint-picker` says of all groups that it serves. Counters begin at 0 with each process,
 * which has a name of its own. What the operator does not know in it is ignored, so that either may be the newer one.
 */
export const gatewayReport = z.object({
  /** Of the process: the name of its Pod with a random end. */
  picker: z.string().regex(/^[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,126}[a-zA-Z0-9])?$/),
  /**
   * True until a report of this process was accepted: its counters have risen from 0 since. Otherwise an operator that does
   * not know the picker takes them as a base, since they may have been counted long ago.
   */
  first: z.boolean().optional(),
  groups: z.array(groupReport).max(1000),
});

export type GatewayReport = z.output<typeof gatewayReport>;
export type GatewayGroupReport = GatewayReport['groups'][number];

/** What the operator answers: what the reporter shares the workers with. */
export const gatewayReply = z.object({
  /** Pickers that reported lately, the reporter too. */
  pickers: z.int().min(1),
  /** The groups of the report that exist. */
  groups: z.array(
    z.object({
      namespace: name,
      name,
      /**
       * In flight through the other pickers, together, and the largest `perf` that one of them has measured. A worker of
       * which there is neither is left out.
       */
      workers: z.array(z.object({ name, requests, work: amount, perf: amount.optional() })),
    }),
  ),
});

export type GatewayReply = z.output<typeof gatewayReply>;
