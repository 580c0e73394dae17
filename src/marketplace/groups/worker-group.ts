/** What workers of a group are made from. undefined on creation: the service's default. */
export interface WorkerGroupOptions {
  readonly endpointId?: number | null;
  readonly endpointName?: string | null;
  readonly templateHash?: string | null;
  readonly templateId?: number | null;
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

/** A worker group as the service keeps it. */
export interface WorkerGroupRow {
  readonly id: number;
  readonly endpointId: number | undefined;
  readonly endpointName: string | undefined;
  readonly templateHash: string | undefined;
  readonly templateId: number | undefined;
  readonly searchParams: string | undefined;
  readonly launchArgs: string | undefined;
  readonly gpuMemoryGB: number | undefined;
}
