import * as z from 'zod';
import type { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import {
  type BaseUrl,
  type Call,
  type ChangeAnswer,
  type KeySource,
  parseBaseUrl,
  type Requester,
  sendChange,
} from '../http/call.ts';
import { toId, toWireId } from '../ids.ts';
import { epochMs, looseInteger, looseNumber, looseText, wireId } from '../scalars.ts';

/** A worker of an endpoint. Times are epoch milliseconds. */
export interface Worker {
  readonly id: MarketplaceId;
  /** State in lower case; `idle` is ready. */
  readonly status: string | undefined;
  readonly load: number | undefined;
  /** Performance units per second. */
  readonly performance: number | undefined;
  readonly requestsWorking: number | undefined;
  readonly diskUsageGB: number | undefined;
  readonly loadedAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly url: string | undefined;
}

export type WorkersReply =
  | { readonly type: 'ready'; readonly workers: readonly Worker[] }
  | { readonly type: 'notReady'; readonly message: string };

export type RouteReply =
  /** The request goes to this worker: call it with all of `authData`. */
  | {
      readonly type: 'ready';
      readonly url: string;
      readonly requestIndex: number | undefined;
      readonly authData: Readonly<Record<string, unknown>>;
    }
  /** The request waits: repeat it with `requestIndex`. */
  | {
      readonly type: 'waiting';
      readonly requestIndex: number | undefined;
      readonly status: string | undefined;
    };

export interface GroupLogs {
  readonly info0: string;
  readonly info1: string;
  readonly trace: string;
  readonly debug: string;
  readonly error: string | undefined;
}

/** A request for a worker. */
export interface RouteRequest {
  readonly endpointName: string;
  readonly endpointKey: Secret;
  /** Cost in performance units. */
  readonly cost: number;
  /** 0 for the first request, then the value of the last reply. */
  readonly requestIndex: number;
  readonly replayTimeoutSeconds?: number;
}

/** Selection of a log. */
export interface GroupLogQuery {
  readonly of: 'endpoint' | 'workerGroup';
  readonly id: MarketplaceId;
  readonly tailLines?: number;
}

/** Calls of the autoscaler, which may have another address than the service. */
export interface AutoscalerResource {
  workers(endpointId: MarketplaceId, options?: CallOptions): Promise<WorkersReply>;
  logs(query: GroupLogQuery, options?: CallOptions): Promise<GroupLogs>;
  /** Starts or cancels a rolling update. Returns the number of workers in it. */
  updateWorkers(
    request: { workerGroupId: MarketplaceId; cancel?: boolean },
    options?: CallOptions,
  ): Promise<{ workers: number | undefined; message: string | undefined }>;
  /** Requests a worker once; the caller repeats the request while it waits. */
  route(request: RouteRequest, options?: CallOptions): Promise<RouteReply>;
  /** Sends the status of a worker under its wire names, without a key. */
  reportWorkerStatus(status: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ChangeAnswer>;
}

/** A worker in the autoscaler's reply. */
export const workerRow = z.object({
  id: wireId,
  status: looseText,
  cur_load: looseNumber,
  cur_perf: looseNumber,
  perf: looseNumber,
  measured_perf: looseNumber,
  reqs_working: looseInteger,
  disk_usage: looseNumber,
  loaded_at: looseNumber,
  started_at: looseNumber,
  url: looseText,
});

/** A bare list; the wrapped form and the reply without a ready worker are accepted too. */
export const workersReply = z.union([
  z.array(workerRow),
  z.object({ workers: z.array(workerRow) }),
  z.object({ error_msg: z.string() }),
]);

export const routeReply = z.looseObject({
  url: looseText,
  request_idx: looseInteger,
  status: looseText,
});

export const groupLogsReply = z.object({
  info0: looseText,
  info1: looseText,
  trace: looseText,
  debug: looseText,
  error: looseText,
});

export const updateWorkersReply = z.object({ workers_to_update: looseInteger, error_msg: looseText });

/** Returns the workers in this program's names. */
export function toWorkers(reply: z.infer<typeof workersReply>): WorkersReply {
  if (Array.isArray(reply)) return { type: 'ready', workers: reply.map(toWorker) };
  if ('workers' in reply) return { type: 'ready', workers: reply.workers.map(toWorker) };
  return { type: 'notReady', message: reply.error_msg };
}

function toWorker(row: z.infer<typeof workerRow>): Worker {
  return {
    id: toId(row.id),
    status: row.status?.toLowerCase(),
    load: row.cur_load,
    performance: row.measured_perf ?? row.cur_perf ?? row.perf,
    requestsWorking: row.reqs_working,
    diskUsageGB: row.disk_usage,
    loadedAt: epochMs(row.loaded_at),
    startedAt: epochMs(row.started_at),
    url: row.url,
  };
}

/** Returns the worker of the request, or that it must wait. */
export function toRoute(reply: z.infer<typeof routeReply>): RouteReply {
  if (!reply.url) return { type: 'waiting', requestIndex: reply.request_idx, status: reply.status };
  return { type: 'ready', url: reply.url, requestIndex: reply.request_idx, authData: reply };
}

/** Returns the four logs of a group. */
export function toGroupLogs(reply: z.infer<typeof groupLogsReply>): GroupLogs {
  const { info0 = '', info1 = '', trace = '', debug = '', error } = reply;
  return { info0, info1, trace, debug, error };
}

/**
 * The public service, whose autoscaler has a separate address; any other service has it at its base address.
 */
const PUBLIC_SERVICE = 'https://console.vast.ai';
const PUBLIC_AUTOSCALER = 'https://run.vast.ai';

const CALL = { area: 'groups', endpointClass: 'other', method: 'POST' } as const;

/** Addresses of the autoscaler. */
export interface AutoscalerOptions {
  readonly baseUrl: string;
  readonly autoscalerUrl?: string | undefined;
  readonly apiKey: KeySource;
}

/** Creates the autoscaler calls over one requester. */
export function createAutoscaler(requester: Requester, options: AutoscalerOptions): AutoscalerResource {
  const base = autoscalerBase(options);
  const keyOf = (effect: 'read' | 'write') =>
    options.apiKey({ effect, method: CALL.method, endpointClass: CALL.endpointClass });
  return {
    async workers(id, bounds) {
      return toWorkers((await requester.send(workersCall(id, { base, bounds }))).value);
    },
    async logs(query, bounds) {
      return toGroupLogs(
        (await requester.send(logsCall(query, { base, bounds, apiKey: keyOf('read') }))).value,
      );
    },
    async updateWorkers(request, bounds) {
      const { value } = await requester.send(updateCall(request, { base, bounds, apiKey: keyOf('write') }));
      return { workers: value.workers_to_update, message: value.error_msg };
    },
    async route(request, bounds) {
      return toRoute((await requester.send(routeCall(request, { base, bounds }))).value);
    },
    reportWorkerStatus: (status, bounds) =>
      sendChange(requester, {
        ...CALL,
        base,
        operation: 'report a worker',
        path: '/worker_status/',
        credential: null,
        body: status,
        bounds,
      }),
  };
}

/** Address and limits of a call. */
interface Reach {
  readonly base: BaseUrl;
  readonly bounds: CallOptions | undefined;
}

/** These calls repeat the account's key in their body. */
interface KeyedReach extends Reach {
  readonly apiKey: Secret;
}

function workersCall(id: MarketplaceId, reach: Reach): Call<typeof workersReply> {
  return {
    ...CALL,
    ...reach,
    operation: 'list workers',
    effect: 'read',
    path: '/get_endpoint_workers/',
    body: { id: toWireId(id, 'endpointId') },
    reply: workersReply,
  };
}

function logsCall(
  { of, id, tailLines }: GroupLogQuery,
  { apiKey, ...reach }: KeyedReach,
): Call<typeof groupLogsReply> {
  return {
    ...CALL,
    ...reach,
    operation: 'read logs of a group',
    effect: 'read',
    path: of === 'endpoint' ? '/get_endpoint_logs/' : '/get_autogroup_logs/',
    body: { id: toWireId(id, `${of}Id`), api_key: apiKey.reveal(), tail: tailLines },
    reply: groupLogsReply,
  };
}

function updateCall(
  { workerGroupId, cancel }: { workerGroupId: MarketplaceId; cancel?: boolean },
  { apiKey, ...reach }: KeyedReach,
): Call<typeof updateWorkersReply> {
  return {
    ...CALL,
    ...reach,
    operation: 'update workers',
    effect: 'write',
    path: '/update_workers/',
    body: {
      workergroup_id: toWireId(workerGroupId, 'workerGroupId'),
      api_key: apiKey.reveal(),
      ...(cancel ? { cancel_update: true } : {}),
    },
    reply: updateWorkersReply,
  };
}

function autoscalerBase({ baseUrl, autoscalerUrl }: AutoscalerOptions): BaseUrl {
  const base = parseBaseUrl(baseUrl);
  if (autoscalerUrl !== undefined) return parseBaseUrl(autoscalerUrl);
  return base.origin === PUBLIC_SERVICE ? parseBaseUrl(PUBLIC_AUTOSCALER) : base;
}

/** Returns the routing call, which uses the endpoint's own key instead of the account's. */
function routeCall(request: RouteRequest, reach: Reach): Call<typeof routeReply> {
  return {
    ...CALL,
    ...reach,
    operation: 'route a request',
    effect: 'write',
    path: '/route/',
    credential: request.endpointKey,
    body: {
      endpoint: request.endpointName,
      api_key: request.endpointKey.reveal(),
      cost: request.cost,
      request_idx: request.requestIndex,
      replay_timeout: request.replayTimeoutSeconds ?? 60,
    },
    reply: routeReply,
  };
}
