import type { EndpointGroupSpec } from './endpoint-group.ts';

/** One option of the marketplace's own endpoint groups and the field that stands for it. */
export interface EndpointOption {
  readonly option: string;
  readonly field: keyof EndpointGroupSpec;
  readonly difference: string;
}

/** The options of specification 4.9 under Kubernetes rules. */
export const endpointOptions: readonly EndpointOption[] = [
  { option: '--min_load', field: 'minLoad', difference: 'a decimal in quotes' },
  { option: '--min_cold_load', field: 'minColdLoad', difference: 'a decimal in quotes' },
  { option: '--target_util', field: 'targetUtilizationPercent', difference: '90 instead of 0.9' },
  { option: '--cold_mult', field: 'coldMultiplier', difference: 'a decimal in quotes' },
  { option: '--cold_workers', field: 'coldWorkers', difference: 'none' },
  { option: '--max_workers', field: 'maxWorkers', difference: 'none' },
  {
    option: '--endpoint_name',
    field: 'endpointName',
    difference: "the object's name when left out; names a Service",
  },
  { option: '--max_queue_time', field: 'maxQueueTime', difference: 'a duration, 30s instead of 30.0' },
  { option: '--target_queue_time', field: 'targetQueueTime', difference: 'a duration, 10s instead of 10.0' },
  {
    option: '--inactivity_timeout',
    field: 'inactivityTimeout',
    difference: 'a duration; a negative number becomes scaleToZero: Never',
  },
];
