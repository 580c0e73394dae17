import type { WorkerGroupOptions, WorkerGroupRow } from '../../marketplace/groups/worker-groups.ts';
import type { Command, CommandOption, OptionValues } from '../command.ts';
import { notFound, usageError } from '../failures/command-error.ts';
import { idChangeCommand } from '../id-change.ts';
import { type NumberBounds, numberOption, parseId, textOption } from '../options/option-values.ts';
import { createOutput, type View } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

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
      description: 'What an offer must be, e.g. "gpu_ram>=24 num_gpus=1".',
    },
    { flag: '--launch_args', field: 'launchArgs', description: 'More arguments for the rental of a worker.' },
    {
      flag: '--autoscaler_instance',
      field: 'autoscalerInstance',
      description: 'Which autoscaler works for it.',
    },
  ];

const NUMBER_FLAGS: readonly NumberFlag[] = [
  { flag: '--endpoint_id', field: 'endpointId', min: 0, whole: true, description: 'The same, by id.' },
  { flag: '--template_id', field: 'templateId', min: 0, whole: true, description: 'The template, by id.' },
  { flag: '--gpu_ram', field: 'gpuMemoryGB', min: 0, description: 'GB of GPU memory that a worker needs.' },
  { flag: '--min_load', field: 'minLoad', min: 0, description: 'Least load that is kept served.' },
  {
    flag: '--min_cold_load',
    field: 'minColdLoad',
    min: 0,
    description: 'The same, but cold workers may serve it.',
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
    description: 'Workers that measure first.',
  },
];

/** The options of a worker group, in the service's own spelling. */
const WORKER_GROUP_OPTIONS: readonly CommandOption[] = [
  ...TEXT_FLAGS.map(({ flag, description }) => ({ flags: `${flag} <text>`, description })),
  ...NUMBER_FLAGS.map(({ flag, description }) => ({ flags: `${flag} <number>`, description })),
];

/** What the options say; what was not given is left out. */
function workerGroupOptions(options: OptionValues): WorkerGroupOptions {
  const texts = TEXT_FLAGS.map(({ flag, field }) => [field, textOption(options, flag)] as const);
  const numbers = NUMBER_FLAGS.map(
    ({ flag, field, ...bounds }) => [field, numberOption(options, flag, bounds)] as const,
  );
  return Object.fromEntries([...texts, ...numbers].filter(([, value]) => value !== undefined));
}

/** Shows the worker groups of the marketplace's endpoint groups. */
export const listWorkergroups: Command = {
  examples: ['gpu-rent list workergroups'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const groups = await withMarketplace(input, context, ({ client }) => client.workerGroups.list());
    await createOutput(input, context).rows(workerGroupView, groups);
    return 0;
  },
};

/** Shows one worker group; the service can only list them. */
export const getWorkergroup: Command = {
  examples: ['gpu-rent get workergroup 31'],
  args: [{ name: '<id>', description: 'The worker group.' }],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'workergroup');
    const groups = await withMarketplace(input, context, ({ client }) => client.workerGroups.list());
    const group = groups.find((row) => row.id === id);
    if (!group)
      throw notFound(`There is no worker group ${id}.`, 'gpu-rent list workergroups shows those there are.');
    await createOutput(input, context).row(workerGroupView, group);
    return 0;
  },
};

/** Creates a worker group in an endpoint group of the marketplace. */
export const createWorkergroup: Command = {
  examples: ['gpu-rent create workergroup --endpoint_name chat --template_hash 6b0c --gpu_ram 24'],
  options: WORKER_GROUP_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const group = workerGroupOptions(input.options);
    if (group.endpointName === undefined && group.endpointId === undefined) {
      throw usageError('In which endpoint group?', 'Give --endpoint_name or --endpoint_id.');
    }
    const id = await withMarketplace(input, context, ({ client }) => client.workerGroups.create(group));
    await createOutput(input, context).changed([{ kind: 'workergroup', name: id, did: 'created' }]);
    return 0;
  },
};

/** Changes a worker group; what is not given stays. */
export const updateWorkergroup: Command = {
  examples: ['gpu-rent update workergroup 31 --gpu_ram 48'],
  args: [{ name: '<id>', description: 'The worker group.' }],
  options: WORKER_GROUP_OPTIONS,
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'workergroup');
    const changes = workerGroupOptions(input.options);
    if (Object.keys(changes).length === 0) {
      throw usageError('Nothing to change was given.', 'Give at least one option, e.g. --gpu_ram 48.');
    }
    await withMarketplace(input, context, ({ client }) => client.workerGroups.update(id, changes));
    await createOutput(input, context).changed([{ kind: 'workergroup', name: id, did: 'updated' }]);
    return 0;
  },
};

export const deleteWorkergroup = idChangeCommand({
  verb: 'delete',
  kind: 'workergroup',
  did: 'deleted',
  question: (ids) => `Delete workergroup ${ids}?`,
  description: 'The machines of a worker group need not go with it: look at list instances afterwards.',
  change: (client, id) => client.workerGroups.delete(id),
});

const workerGroupView: View<WorkerGroupRow> = {
  kind: 'workergroup',
  name: ({ id }) => id,
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
};
