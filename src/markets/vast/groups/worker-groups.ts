import * as z from 'zod';
import type { CallOptions } from '../../../market/call-options.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import { type ChangeAnswer, type Requester, sendChange } from '../http/call.ts';
import { pathId, toId, toOptionalWireId, toWireId } from '../ids.ts';
import { looseInteger, looseNumber, looseText, wireId } from '../scalars.ts';
import { nullWhereKept } from './endpoint-groups.ts';

/** Template of a group's workers. Undefined on creation: the service's default. */
export interface WorkerGroupOptions {
  readonly endpointId?: MarketplaceId | null;
  readonly endpointName?: string | null;
  readonly templateHash?: string | null;
  readonly templateId?: MarketplaceId | null;
  /** An offer search in the text grammar, e.g. `gpu_ram>=23 num_gpus=1`. */
  readonly searchParams?: string | null;
  readonly launchArgs?: string | null;
  readonly gpuMemoryGB?: number | null;
  readonly minLoad?: number | null;
  readonly minColdLoad?: number | null;
  readonly targetUtilization?: number | null;
  readonly coldMultiplier?: number | null;
  readonly coldWorkers?: number | null;
  readonly maxWorkers?: number | null;
  readonly testWorkers?: number | null;
  readonly autoscalerInstance?: string | null;
}

/** A worker group in the service's records. */
export interface WorkerGroupRow {
  readonly id: MarketplaceId;
  readonly endpointId: MarketplaceId | undefined;
  readonly endpointName: string | undefined;
  readonly templateHash: string | undefined;
  readonly templateId: MarketplaceId | undefined;
  readonly searchParams: string | undefined;
  readonly launchArgs: string | undefined;
  readonly gpuMemoryGB: number | undefined;
}

/** Worker groups of endpoint groups. */
export interface WorkerGroupsResource {
  list(options?: CallOptions): Promise<WorkerGroupRow[]>;
  /** Creates a worker group and returns its id. */
  create(group: WorkerGroupOptions, options?: CallOptions): Promise<MarketplaceId>;
  /** Updates a worker group. undefined and null keep the present value. */
  update(id: MarketplaceId, changes: WorkerGroupOptions, options?: CallOptions): Promise<ChangeAnswer>;
  /** Deletes a worker group. Its instances may remain: check the list. */
  delete(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
}

/** A worker group in a list. */
export const workerGroupRow = z.object({
  id: wireId,
  endpoint_id: looseInteger,
  endpoint_name: looseText,
  template_hash: looseText,
  template_id: looseInteger,
  search_params: z
    .union([z.string(), z.record(z.string(), z.unknown())])
    .optional()
    .catch(undefined),
  launch_args: looseText,
  gpu_ram: looseNumber,
});

export const workerGroupsReply = z.object({ results: z.array(workerGroupRow) });
export const newWorkerGroupReply = z.object({ id: wireId });

/** Returns the worker group in this program's names. */
export function toWorkerGroup(row: z.infer<typeof workerGroupRow>): WorkerGroupRow {
  return {
    id: toId(row.id),
    endpointId: toId(row.endpoint_id),
    endpointName: row.endpoint_name,
    templateHash: row.template_hash,
    templateId: toId(row.template_id),
    searchParams:
      typeof row.search_params === 'object' ? JSON.stringify(row.search_params) : row.search_params,
    launchArgs: row.launch_args,
    gpuMemoryGB: row.gpu_ram,
  };
}

const GROUPS = '/api/v0/workergroups/';
const CHANGE = { area: 'groups', endpointClass: 'groupChange' } as const;

/** Creates the worker group calls over one requester. */
export function createWorkerGroups(requester: Requester): WorkerGroupsResource {
  return {
    async list(bounds) {
      const { value } = await requester.send({
        ...CHANGE,
        operation: 'list worker groups',
        effect: 'read',
        method: 'GET',
        path: GROUPS,
        query: { client_id: 'me' },
        reply: workerGroupsReply,
        bounds,
      });
      return value.results.map(toWorkerGroup);
    },
    create: (group, options) => create(requester, group, options),
    update: async (id, changes, bounds) =>
      sendChange(requester, {
        ...CHANGE,
        operation: 'change a worker group',
        method: 'PUT',
        path: `${GROUPS}${pathId(id, 'workerGroupId')}/`,
        body: {
          client_id: 'me',
          autojob_id: toWireId(id, 'workerGroupId'),
          ...nullWhereKept(toWireGroup(changes)),
        },
        bounds,
      }),
    delete: async (id, bounds) =>
      sendChange(requester, {
        ...CHANGE,
        operation: 'delete a worker group',
        method: 'DELETE',
        path: `${GROUPS}${pathId(id, 'workerGroupId')}/`,
        body: { client_id: 'me', autojob_id: toWireId(id, 'workerGroupId') },
        bounds,
      }),
  };
}

async function create(
  requester: Requester,
  group: WorkerGroupOptions,
  bounds: CallOptions | undefined,
): Promise<MarketplaceId> {
  const { value } = await requester.send({
    operation: 'create a worker group',
    endpointClass: 'groupCreate',
    area: 'groups',
    effect: 'write',
    method: 'POST',
    path: GROUPS,
    body: { client_id: 'me', ...toWireGroup(group) },
    reply: newWorkerGroupReply,
    bounds,
  });
  return toId(value.id);
}

function toWireGroup(group: WorkerGroupOptions): Record<string, unknown> {
  return {
    endpoint_id: toOptionalWireId(group.endpointId, 'endpointId'),
    endpoint_name: group.endpointName,
    template_hash: group.templateHash,
    template_id: toOptionalWireId(group.templateId, 'templateId'),
    search_params: group.searchParams,
    launch_args: group.launchArgs,
    gpu_ram: group.gpuMemoryGB,
    min_load: group.minLoad,
    min_cold_load: group.minColdLoad,
    target_util: group.targetUtilization,
    cold_mult: group.coldMultiplier,
    cold_workers: group.coldWorkers,
    max_workers: group.maxWorkers,
    test_workers: group.testWorkers,
    autoscaler_instance: group.autoscalerInstance,
  };
}
