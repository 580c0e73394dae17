import type { WorkerGroupOptions, WorkerGroupRow } from '../../markets/vast/groups/worker-groups.ts';
import type { CommandOption, OptionValues } from '../command.ts';
import { usageError } from '../command-error.ts';
import { commandsOf } from '../noun.ts';
import { type NumberBounds, numberOption, textOption } from '../option-values.ts';

type Field = keyof WorkerGroupOptions;

interface NumberFlag extends NumberBounds {
  readonly flag: string;
  readonly field: Field;
  readonly description: string;
}

const TEXT_FLAGS: readonly { readonly flag: string; readonly field: Field; readonly description: string }[] =
  [
    { flag: '--endpoint_name', field: 'endpointName', description: 'The endpoint group, by name.' },
    { flag: '--template_hash', field: 'templateHash', description: 'The template that workers start from.' },
    {
      flag: '--search_params',
      field: 'searchParams',
      description: 'Requirements of an offer, e.g. "gpu_ram>=24 num_gpus=1".',
    },
    { flag: '--launch_args', field: 'launchArgs', description: 'More arguments for the rental of a worker.' },
    {
      flag: '--autoscaler_instance',
      field: 'autoscalerInstance',
      description: 'Autoscaler for the group.',
    },
  ];

const NUMBER_FLAGS: readonly NumberFlag[] = [
  { flag: '--endpoint_id', field: 'endpointId', min: 0, whole: true, description: 'The same, by id.' },
  { flag: '--template_id', field: 'templateId', min: 0, whole: true, description: 'The template, by id.' },
  { flag: '--gpu_ram', field: 'gpuMemoryGB', min: 0, description: 'GB of GPU memory per worker.' },
  { flag: '--min_load', field: 'minLoad', min: 0, description: 'Minimum load to provision for.' },
  {
    flag: '--min_cold_load',
    field: 'minColdLoad',
    min: 0,
    description: 'Minimum load that cold workers may cover.',
  },
  {
    flag: '--target_util',
    field: 'targetUtilization',
    min: 0.01,
    max: 1,
    description: 'Share of the capacity to use.',
  },
  {
    flag: '--cold_mult',
    field: 'coldMultiplier',
    min: 0,
    description: 'Cold capacity as a multiple of the hot.',
  },
  { flag: '--cold_workers', field: 'coldWorkers', min: 0, whole: true, description: 'Least cold workers.' },
  { flag: '--max_workers', field: 'maxWorkers', min: 0, whole: true, description: 'Most workers.' },
  {
    flag: '--test_workers',
    field: 'testWorkers',
    min: 0,
    whole: true,
    description: 'Number of workers that run a benchmark first.',
  },
];

/** The options of a worker group, in the service's spelling. */
const WORKER_GROUP_OPTIONS: readonly CommandOption[] = [
  ...TEXT_FLAGS.map(({ flag, description }) => ({ flags: `${flag} <text>`, description, mayBeEmpty: true })),
  ...NUMBER_FLAGS.map(({ flag, description }) => ({ flags: `${flag} <number>`, description })),
];

/** Returns the given options. */
function workerGroupOptions(options: OptionValues): WorkerGroupOptions {
  const texts = TEXT_FLAGS.map(({ flag, field }) => [field, textOption(options, flag)] as const);
  const numbers = NUMBER_FLAGS.map(
    ({ flag, field, ...bounds }) => [field, numberOption(options, flag, bounds)] as const,
  );
  return Object.fromEntries([...texts, ...numbers].filter(([, value]) => value !== undefined));
}

const workergroup = commandsOf({
  noun: 'workergroup',
  called: 'worker group',
  row: (group: WorkerGroupRow) => group,
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Endpoint', text: ({ endpointName, endpointId }) => endpointName ?? endpointId },
    { header: 'Template', text: ({ templateHash, templateId }) => templateHash ?? templateId },
    {
      header: 'GPU memory',
      text: ({ gpuMemoryGB }) => (gpuMemoryGB === undefined ? undefined : `${gpuMemoryGB}G`),
    },
    { header: 'Search', text: ({ searchParams }) => searchParams, wide: true },
    { header: 'Launch', text: ({ launchArgs }) => launchArgs, wide: true },
  ],
});

/** Shows the worker groups of the marketplace's endpoint groups. */
export const listWorkergroups = workergroup.list({
  examples: ['gpu-rent list workergroups'],
  find: (client) => client.workerGroups.list(),
});

/** Shows one worker group; the service can only list them. */
export const getWorkergroup = workergroup.get({
  examples: ['gpu-rent get workergroup 31'],
  find: async (client, id) => (await client.workerGroups.list()).find((group) => group.id === id),
});

/** Creates a worker group in an endpoint group of the marketplace. */
export const createWorkergroup = workergroup.create({
  examples: ['gpu-rent create workergroup --endpoint_name chat --template_hash 6b0c --gpu_ram 24'],
  options: WORKER_GROUP_OPTIONS,
  request({ options }) {
    const group = workerGroupOptions(options);
    if (group.endpointName !== undefined || group.endpointId !== undefined) return group;
    throw usageError('The endpoint group is missing.', 'Give --endpoint_name or --endpoint_id.');
  },
  send: (client, group) => client.workerGroups.create(group),
});

/** Changes a worker group; options that are left out stay unchanged. */
export const updateWorkergroup = workergroup.update({
  examples: ['gpu-rent update workergroup 31 --gpu_ram 48'],
  options: WORKER_GROUP_OPTIONS,
  hint: '--gpu_ram 48',
  changes: ({ options }) => workerGroupOptions(options),
  send: (client, id, changes) => client.workerGroups.update(id, changes),
});

export const deleteWorkergroup = workergroup.change('delete', {
  did: 'deleted',
  question: (ids) => `Delete workergroup ${ids}?`,
  description: 'The machines of a worker group may remain: check list instances afterwards.',
  change: (client, id) => client.workerGroups.delete(id),
});
