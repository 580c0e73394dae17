import { type ChangeAnswer, pathId, sendChange } from '../http/change.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import { newWorkerGroupReply, toWorkerGroup, workerGroupsReply } from '../wire/groups.ts';
import { nullWhereKept } from './endpoint-groups.ts';
import type { WorkerGroupOptions, WorkerGroupRow } from './worker-group.ts';

/** Worker groups of endpoint groups. */
export interface WorkerGroupsResource {
  list(options?: CallOptions): Promise<WorkerGroupRow[]>;
  /** Answers the id of the new group. */
  create(group: WorkerGroupOptions, options?: CallOptions): Promise<number>;
  /** undefined and null keep what is there. */
  update(id: number, changes: WorkerGroupOptions, options?: CallOptions): Promise<ChangeAnswer>;
  /** Its instances need not go too: look for leftovers. */
  delete(id: number, options?: CallOptions): Promise<ChangeAnswer>;
}

const GROUPS = '/api/v0/workergroups/';
const CHANGE = { area: 'groups', endpointClass: 'groupChange' } as const;

/** Worker groups over one requester. */
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
        path: `${GROUPS}${pathId(id)}/`,
        body: { client_id: 'me', autojob_id: id, ...nullWhereKept(toWireGroup(changes)) },
        bounds,
      }),
    delete: async (id, bounds) =>
      sendChange(requester, {
        ...CHANGE,
        operation: 'delete a worker group',
        method: 'DELETE',
        path: `${GROUPS}${pathId(id)}/`,
        body: { client_id: 'me', autojob_id: id },
        bounds,
      }),
  };
}

async function create(
  requester: Requester,
  group: WorkerGroupOptions,
  bounds: CallOptions | undefined,
): Promise<number> {
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
  return value.id;
}

function toWireGroup(group: WorkerGroupOptions): Record<string, unknown> {
  return {
    endpoint_id: group.endpointId,
    endpoint_name: group.endpointName,
    template_hash: group.templateHash,
    template_id: group.templateId,
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
