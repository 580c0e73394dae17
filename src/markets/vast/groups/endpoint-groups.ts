import * as z from 'zod';
import { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import { type ChangeAnswer, type Requester, sendChange } from '../http/call.ts';
import { pathId, toId, toWireId } from '../ids.ts';
import { looseInteger, looseNumber, looseText, wireId } from '../scalars.ts';

/** State of an endpoint. */
export type EndpointState = 'active' | 'suspended' | 'stopped';

/**
 * Options of an endpoint group (specification 4.9), in its units: loads in performance units per second, times in
 * seconds. Undefined on creation: the service's default.
 */
export interface EndpointGroupOptions {
  readonly endpointName?: string | null | undefined;
  readonly minLoad?: number | null | undefined;
  readonly minColdLoad?: number | null | undefined;
  /** A fraction, at most 1. */
  readonly targetUtilization?: number | null | undefined;
  readonly coldMultiplier?: number | null | undefined;
  readonly coldWorkers?: number | null | undefined;
  readonly maxWorkers?: number | null | undefined;
  readonly maxQueueSeconds?: number | null | undefined;
  readonly targetQueueSeconds?: number | null | undefined;
  /** 0: never scales down; negative: never to zero. */
  readonly inactivityTimeoutSeconds?: number | null | undefined;
  readonly autoscalerInstance?: string | null | undefined;
  readonly state?: EndpointState | null | undefined;
}

/** An endpoint group in the service's records. */
export interface EndpointGroupRow {
  readonly id: MarketplaceId;
  readonly name: string | undefined;
  /** The endpoint's own key, for routing. */
  readonly apiKey: Secret | undefined;
  readonly state: string | undefined;
  readonly minLoad: number | undefined;
  readonly minColdLoad: number | undefined;
  readonly targetUtilization: number | undefined;
  readonly coldMultiplier: number | undefined;
  readonly coldWorkers: number | undefined;
  readonly maxWorkers: number | undefined;
  readonly maxQueueSeconds: number | undefined;
  readonly targetQueueSeconds: number | undefined;
  readonly inactivityTimeoutSeconds: number | undefined;
}

/** Endpoint groups that the service itself scales (specification 4.9). */
export interface EndpointGroupsResource {
  list(options?: CallOptions): Promise<EndpointGroupRow[]>;
  get(id: MarketplaceId, options?: CallOptions): Promise<EndpointGroupRow>;
  /** Creates a group and returns its id. */
  create(group: EndpointGroupOptions, options?: CallOptions): Promise<MarketplaceId>;
  /** Updates a group. undefined and null keep the present value. */
  update(id: MarketplaceId, changes: EndpointGroupOptions, options?: CallOptions): Promise<ChangeAnswer>;
  /** Deletes a group with its worker groups. */
  delete(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
}

/** An endpoint group in a list. `api_key` belongs to the endpoint alone. */
export const endpointGroupRow = z.object({
  id: wireId,
  endpoint_name: looseText,
  api_key: looseText,
  endpoint_state: looseText,
  min_load: looseNumber,
  min_cold_load: looseNumber,
  target_util: looseNumber,
  cold_mult: looseNumber,
  cold_workers: looseInteger,
  max_workers: looseInteger,
  max_queue_time: looseNumber,
  target_queue_time: looseNumber,
  inactivity_timeout: looseInteger,
});

export const endpointGroupsReply = z.object({ results: z.array(endpointGroupRow) });
export const endpointGroupReply = z.object({ result: endpointGroupRow });
export const newEndpointGroupReply = z.object({ result: wireId });

/** Returns the scaling options (specification 4.9) under their wire names, without undefined ones. */
export function toWireScaling(options: EndpointGroupOptions) {
  return {
    endpoint_name: options.endpointName,
    min_load: options.minLoad,
    min_cold_load: options.minColdLoad,
    target_util: options.targetUtilization,
    cold_mult: options.coldMultiplier,
    cold_workers: options.coldWorkers,
    max_workers: options.maxWorkers,
    max_queue_time: options.maxQueueSeconds,
    target_queue_time: options.targetQueueSeconds,
    inactivity_timeout: options.inactivityTimeoutSeconds,
    autoscaler_instance: options.autoscalerInstance,
    endpoint_state: options.state,
  };
}

/** Returns the endpoint group in this program's names. */
export function toEndpointGroup(row: z.infer<typeof endpointGroupRow>): EndpointGroupRow {
  return {
    id: toId(row.id),
    name: row.endpoint_name,
    apiKey: row.api_key ? new Secret(row.api_key) : undefined,
    state: row.endpoint_state,
    minLoad: row.min_load,
    minColdLoad: row.min_cold_load,
    targetUtilization: row.target_util,
    coldMultiplier: row.cold_mult,
    coldWorkers: row.cold_workers,
    maxWorkers: row.max_workers,
    maxQueueSeconds: row.max_queue_time,
    targetQueueSeconds: row.target_queue_time,
    inactivityTimeoutSeconds: row.inactivity_timeout,
  };
}

const GROUPS = '/api/v0/endptjobs/';
const CHANGE = { area: 'groups', endpointClass: 'groupChange' } as const;
const READ = { ...CHANGE, effect: 'read', method: 'GET' } as const;

/** Creates the endpoint group calls over one requester. */
export function createEndpointGroups(requester: Requester): EndpointGroupsResource {
  return {
    async list(bounds) {
      const query = { client_id: 'me' };
      const call = { ...READ, operation: 'list endpoint groups', path: GROUPS, query, bounds };
      const { value } = await requester.send({ ...call, reply: endpointGroupsReply });
      return value.results.map(toEndpointGroup);
    },
    async get(id, bounds) {
      const call = {
        ...READ,
        operation: 'read an endpoint group',
        path: `${GROUPS}${pathId(id, 'endpointId')}/`,
        bounds,
      };
      const { value } = await requester.send({ ...call, reply: endpointGroupReply });
      return toEndpointGroup(value.result);
    },
    create: (group, options) => create(requester, group, options),
    update: async (id, changes, bounds) =>
      sendChange(requester, {
        ...CHANGE,
        operation: 'change an endpoint group',
        method: 'PUT',
        path: `${GROUPS}${pathId(id, 'endpointId')}/`,
        body: {
          client_id: 'me',
          endptjob_id: toWireId(id, 'endpointId'),
          ...nullWhereKept(toWireScaling(changes)),
        },
        bounds,
      }),
    delete: async (id, bounds) =>
      sendChange(requester, {
        ...CHANGE,
        operation: 'delete an endpoint group',
        method: 'DELETE',
        path: `${GROUPS}${pathId(id, 'endpointId')}/`,
        body: { client_id: 'me', endptjob_id: toWireId(id, 'endpointId') },
        bounds,
      }),
  };
}

async function create(
  requester: Requester,
  group: EndpointGroupOptions,
  bounds: CallOptions | undefined,
): Promise<MarketplaceId> {
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
  return toId(value.result);
}

/** Returns the options with null for each unchanged one: an update names every option. */
export function nullWhereKept(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, value ?? null]));
}
