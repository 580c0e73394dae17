import { type ChangeAnswer, pathId, sendChange } from '../http/change.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import {
  endpointGroupReply,
  endpointGroupsReply,
  newEndpointGroupReply,
  toEndpointGroup,
  toWireScaling,
} from '../wire/groups.ts';
import type { EndpointGroupOptions, EndpointGroupRow } from './endpoint-group.ts';

/** Endpoint groups that the service itself scales (specification 4.9). */
export interface EndpointGroupsResource {
  list(options?: CallOptions): Promise<EndpointGroupRow[]>;
  get(id: number, options?: CallOptions): Promise<EndpointGroupRow>;
  /** Answers the id of the new group. */
  create(group: EndpointGroupOptions, options?: CallOptions): Promise<number>;
  /** undefined and null keep what is there. */
  update(id: number, changes: EndpointGroupOptions, options?: CallOptions): Promise<ChangeAnswer>;
  /** Its worker groups go too. */
  delete(id: number, options?: CallOptions): Promise<ChangeAnswer>;
}

const GROUPS = '/api/v0/endptjobs/';
const CHANGE = { area: 'groups', endpointClass: 'groupChange' } as const;
const READ = { ...CHANGE, effect: 'read', method: 'GET' } as const;

/** Endpoint groups over one requester. */
export function createEndpointGroups(requester: Requester): EndpointGroupsResource {
  return {
    async list(bounds) {
      const query = { client_id: 'me' };
      const call = { ...READ, operation: 'list endpoint groups', path: GROUPS, query, bounds };
      const { value } = await requester.send({ ...call, reply: endpointGroupsReply });
      return value.results.map(toEndpointGroup);
    },
    async get(id, bounds) {
      const call = { ...READ, operation: 'read an endpoint group', path: `${GROUPS}${pathId(id)}/`, bounds };
      const { value } = await requester.send({ ...call, reply: endpointGroupReply });
      return toEndpointGroup(value.result);
    },
    create: (group, options) => create(requester, group, options),
    update: async (id, changes, bounds) =>
      sendChange(requester, {
        ...CHANGE,
        operation: 'change an endpoint group',
        method: 'PUT',
        path: `${GROUPS}${pathId(id)}/`,
        body: { client_id: 'me', endptjob_id: id, ...nullWhereKept(toWireScaling(changes)) },
        bounds,
      }),
    delete: async (id, bounds) =>
      sendChange(requester, {
        ...CHANGE,
        operation: 'delete an endpoint group',
        method: 'DELETE',
        path: `${GROUPS}${pathId(id)}/`,
        body: { client_id: 'me', endptjob_id: id },
        bounds,
      }),
  };
}

async function create(
  requester: Requester,
  group: EndpointGroupOptions,
  bounds: CallOptions | undefined,
): Promise<number> {
  const { value } = await requester.send({
    operation: 'create an endpoint group',
    endpointClass: 'groupCreate',
    area: 'groups',
    effect: 'write',
    method: 'POST',
    path: GROUPS,
    body: { client_id: 'me', ...toWireScaling(group) },
    reply: newEndpointGroupReply,
    bounds,
  });
  return value.result;
}

/** An update names every option; null keeps it. */
export function nullWhereKept(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, value ?? null]));
}
