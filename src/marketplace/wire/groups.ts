import * as z from 'zod';
import { Secret } from '../../lib/secret.ts';
import type { EndpointGroupOptions, EndpointGroupRow } from '../groups/endpoint-group.ts';
import type { WorkerGroupRow } from '../groups/worker-group.ts';
import { looseInteger, looseNumber, looseText, wireId } from './scalars.ts';

/** An endpoint group as it is listed. `api_key` belongs to the endpoint alone. */
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

/** A worker group as it is listed. */
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

/** Scaling options (specification 4.9) under their wire names; what is undefined is left out. */
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

/** The endpoint group in our names. */
export function toEndpointGroup(row: z.infer<typeof endpointGroupRow>): EndpointGroupRow {
  return {
    id: row.id,
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

/** The worker group in our names. */
export function toWorkerGroup(row: z.infer<typeof workerGroupRow>): WorkerGroupRow {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    endpointName: row.endpoint_name,
    templateHash: row.template_hash,
    templateId: row.template_id,
    searchParams:
      typeof row.search_params === 'object' ? JSON.stringify(row.search_params) : row.search_params,
    launchArgs: row.launch_args,
    gpuMemoryGB: row.gpu_ram,
  };
}
