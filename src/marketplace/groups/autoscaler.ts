import type { Secret } from '../../lib/secret.ts';
import { type BaseUrl, parseBaseUrl } from '../http/base-url.ts';
import { type ChangeAnswer, sendChange } from '../http/change.ts';
import { type Call, type KeySource, keyFor, type Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import {
  groupLogsReply,
  routeReply,
  toGroupLogs,
  toRoute,
  toWorkers,
  updateWorkersReply,
  workersReply,
} from '../wire/autoscaler.ts';
import type { GroupLogs, RouteReply, WorkersReply } from './autoscaler-reply.ts';

/** What a request that wants a worker says. */
export interface RouteRequest {
  readonly endpointName: string;
  readonly endpointKey: Secret;
  /** In performance units. */
  readonly cost: number;
  /** 0 at first, then what came back. */
  readonly requestIndex: number;
  readonly replayTimeoutSeconds?: number;
}

/** Which log is read. */
export interface GroupLogQuery {
  readonly of: 'endpoint' | 'workerGroup';
  readonly id: number;
  readonly tailLines?: number;
}

/** Calls of the autoscaler, which may stand at another address than the service. */
export interface AutoscalerResource {
  workers(endpointId: number, options?: CallOptions): Promise<WorkersReply>;
  logs(query: GroupLogQuery, options?: CallOptions): Promise<GroupLogs>;
  /** Begins, or cancels, a rolling update and answers how many workers it concerns. */
  updateWorkers(
    request: { workerGroupId: number; cancel?: boolean },
    options?: CallOptions,
  ): Promise<{ workers: number | undefined; message: string | undefined }>;
  /** One attempt: the caller asks again while it waits. */
  route(request: RouteRequest, options?: CallOptions): Promise<RouteReply>;
  /** What a worker reports of itself, under its wire names. Carries no key. */
  reportWorkerStatus(status: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ChangeAnswer>;
}

/** Where the public service keeps its autoscaler; any other service has it at its own address. */
const PUBLIC_SERVICE = 'https://console.vast.ai';
const PUBLIC_AUTOSCALER = 'https://run.vast.ai';

const CALL = { area: 'groups', endpointClass: 'other', method: 'POST' } as const;

/** How the autoscaler is reached. */
export interface AutoscalerOptions {
  readonly baseUrl: string;
  readonly autoscalerUrl?: string | undefined;
  readonly apiKey: Secret | KeySource;
}

/** The autoscaler over one requester. */
export function createAutoscaler(requester: Requester, options: AutoscalerOptions): AutoscalerResource {
  const base = autoscalerBase(options);
  const keyOf = (effect: 'read' | 'write') => keyFor(options.apiKey, { effect, method: CALL.method });
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

/** Where a call goes and how it is bounded. */
interface Reach {
  readonly base: BaseUrl;
  readonly bounds: CallOptions | undefined;
}

/** These calls repeat the account's key in their body. */
interface KeyedReach extends Reach {
  readonly apiKey: Secret;
}

function workersCall(id: number, reach: Reach): Call<typeof workersReply> {
  return {
    ...CALL,
    ...reach,
    operation: 'list workers',
    effect: 'read',
    path: '/get_endpoint_workers/',
    body: { id },
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
    body: { id, api_key: apiKey.reveal(), tail: tailLines },
    reply: groupLogsReply,
  };
}

function updateCall(
  { workerGroupId, cancel }: { workerGroupId: number; cancel?: boolean },
  { apiKey, ...reach }: KeyedReach,
): Call<typeof updateWorkersReply> {
  return {
    ...CALL,
    ...reach,
    operation: 'update workers',
    effect: 'write',
    path: '/update_workers/',
    body: {
      workergroup_id: workerGroupId,
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

/** The endpoint's own key stands in for the account's. */
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
