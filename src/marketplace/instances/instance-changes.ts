import type { MicroDollars } from '../../lib/money.ts';
import { type Change, type ChangeAnswer, pathId, sendChange } from '../http/change.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import { logsReply } from '../wire/instance.ts';
import type { InstancesResource, LogQuery } from './instances.ts';

type InstanceChange = Pick<Change, 'operation' | 'path' | 'body' | 'bounds'>;

type Changes = Omit<InstancesResource, 'list' | 'listAll' | 'page' | 'get' | 'rent' | 'rentMany'>;

/** Changing instances over one requester (specification 4.6, 4.7). Nothing here is ever repeated. */
export function createInstanceChanges(requester: Requester): Changes {
  const put = (change: InstanceChange): Promise<ChangeAnswer> =>
    sendChange(requester, { ...change, area: 'instances', endpointClass: 'change', method: 'PUT' });

  const setState = (id: number, state: 'running' | 'stopped', bounds?: CallOptions) =>
    put({ operation: `${OPERATION[state]} an instance`, path: instancePath(id), body: { state }, bounds });

  const setStates = (ids: readonly number[], state: 'running' | 'stopped', bounds?: CallOptions) =>
    put({
      operation: `${OPERATION[state]} many instances`,
      path: '/api/v0/instances/',
      body: { state, ids },
      bounds,
    });

  return {
    stop: async (id, options) => setState(id, 'stopped', options),
    start: async (id, options) => setState(id, 'running', options),
    stopMany: async (ids, options) => setStates(ids, 'stopped', options),
    startMany: async (ids, options) => setStates(ids, 'running', options),
    label: async (id, label, bounds) =>
      put({ operation: 'label an instance', path: instancePath(id), body: { label }, bounds }),
    reboot: async (id, bounds) =>
      put({ operation: 'reboot an instance', path: instancePath(id, 'reboot'), body: {}, bounds }),
    recycle: async (id, bounds) =>
      put({ operation: 'recycle an instance', path: instancePath(id, 'recycle'), body: {}, bounds }),
    changeBid: async (id, bid, bounds) =>
      put({ operation: 'change a bid', path: instancePath(id, 'bid_price'), body: bidBody(bid), bounds }),
    requestLogs: async (id, query, options) => requestLogs(requester, { id, query, options }),
    destroy: async (id, bounds) =>
      destroy(requester, { operation: 'destroy an instance', path: instancePath(id), body: {}, bounds }),
    destroyMany: async (ids, bounds) =>
      destroy(requester, {
        operation: 'destroy many instances',
        path: '/api/v0/instances/',
        body: { instance_ids: ids },
        bounds,
      }),
  };
}

/** Its class goes before all others. */
function destroy(requester: Requester, change: InstanceChange): Promise<ChangeAnswer> {
  return sendChange(requester, {
    ...change,
    area: 'instances',
    endpointClass: 'destroy',
    method: 'DELETE',
  });
}

/** null asks for the price that wins now. */
function bidBody(bidPerHour: MicroDollars | null) {
  return { client_id: 'me', price: bidPerHour === null ? null : bidPerHour / 1_000_000 };
}

const OPERATION = { running: 'start', stopped: 'stop' } as const;

function instancePath(id: number, verb?: string): string {
  return `/api/v0/instances/${verb === undefined ? '' : `${verb}/`}${pathId(id)}/`;
}

/** Although a PUT, it changes nothing, so it may be repeated. */
async function requestLogs(
  requester: Requester,
  {
    id,
    query = {},
    options,
  }: { id: number; query?: LogQuery | undefined; options?: CallOptions | undefined },
) {
  const { value, answeredAt } = await requester.send({
    operation: 'request logs',
    endpointClass: 'other',
    area: 'instances',
    effect: 'read',
    method: 'PUT',
    path: instancePath(id, 'request_logs'),
    body: {
      filter: query.filter,
      tail: query.tailLines === undefined ? undefined : String(query.tailLines),
      daemon_logs: query.daemonLogs === undefined ? undefined : String(query.daemonLogs),
    },
    reply: logsReply,
    bounds: options,
  });
  return { answeredAt, message: value.msg, resultUrl: value.result_url };
}
