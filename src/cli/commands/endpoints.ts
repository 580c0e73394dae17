import type {
  EndpointGroupOptions,
  EndpointGroupRow,
  EndpointState,
} from '../../markets/vast/groups/endpoint-groups.ts';
import type { Command, CommandOption, OptionValues } from '../command.ts';
import { commandsOf } from '../noun.ts';
import { type NumberBounds, numberOption, parseId, textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { reserveSecretFile } from '../secrets/secret-file.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

type NumberField = Exclude<keyof EndpointGroupOptions, 'endpointName' | 'autoscalerInstance' | 'state'>;

/** An option of specification 4.9 with a number. */
interface NumberFlag extends NumberBounds {
  readonly flag: string;
  readonly field: NumberField;
  /** Default of the specification; applied when a group is created. */
  readonly standard: number | undefined;
  readonly description: string;
}

const NUMBER_FLAGS: readonly NumberFlag[] = [
  {
    flag: '--min_load',
    field: 'minLoad',
    standard: 0,
    min: 0,
    description:
      'Minimum load to provision for, in performance units per second (tokens for language models).',
  },
  {
    flag: '--min_cold_load',
    field: 'minColdLoad',
    standard: 0,
    min: 0,
    description: 'Minimum load that cold workers may cover.',
  },
  {
    flag: '--target_util',
    field: 'targetUtilization',
    standard: 0.9,
    min: 0.01,
    max: 1,
    description: 'Target utilization of the capacity, at most 1.',
  },
  {
    flag: '--cold_mult',
    field: 'coldMultiplier',
    standard: 2.5,
    min: 0,
    description: 'Cold or stopped capacity as a multiple of the hot target.',
  },
  {
    flag: '--cold_workers',
    field: 'coldWorkers',
    standard: 5,
    min: 0,
    whole: true,
    description: 'Minimum number of cold workers without load.',
  },
  {
    flag: '--max_workers',
    field: 'maxWorkers',
    standard: 20,
    min: 0,
    whole: true,
    description: 'Maximum number of workers.',
  },
  {
    flag: '--max_queue_time',
    field: 'maxQueueSeconds',
    standard: 30,
    min: 0,
    description: 'Maximum seconds of queued work at a worker.',
  },
  {
    flag: '--target_queue_time',
    field: 'targetQueueSeconds',
    standard: 10,
    min: 0,
    description: 'Target seconds to clear the queue.',
  },
  {
    flag: '--inactivity_timeout',
    field: 'inactivityTimeoutSeconds',
    standard: undefined,
    whole: true,
    description: 'Seconds without traffic before all workers are inactive; 0: off, negative: never to zero.',
  },
];

/** Returns the options of specification 4.9 in its spelling; dashes are accepted as well. */
function endpointOptionList(purpose: 'create' | 'update'): readonly CommandOption[] {
  const suffix = (flag: NumberFlag) =>
    purpose === 'create' && flag.standard !== undefined ? ` Default: ${flag.standard}.` : '';
  return [
    {
      flags: '--endpoint_name <name>',
      description: 'Name of the endpoint; groups with the same one share it.',
    },
    ...NUMBER_FLAGS.map((flag) => ({
      flags: `${flag.flag} <number>`,
      description: `${flag.description}${suffix(flag)}`,
    })),
    {
      flags: '--autoscaler_instance <name>',
      description: 'Autoscaler of the service for the group.',
    },
  ];
}

/** Changes the state of an existing group. */
const ENDPOINT_STATE: CommandOption = {
  flags: '--endpoint_state <state>',
  description: 'Whether it serves.',
  choices: ['active', 'suspended', 'stopped'],
};

/** Returns the values of the options; with `standard` the specification's defaults replace missing ones. */
function endpointOptions(options: OptionValues, standard: boolean): EndpointGroupOptions {
  const numbers = NUMBER_FLAGS.flatMap(({ flag, field, standard: usual, ...bounds }) => {
    const value = numberOption(options, flag, bounds) ?? (standard ? usual : undefined);
    return value === undefined ? [] : [[field, value] as const];
  });
  return {
    ...Object.fromEntries(numbers),
    endpointName: textOption(options, '--endpoint_name'),
    autoscalerInstance: textOption(options, '--autoscaler_instance'),
    state: stateOf(textOption(options, '--endpoint_state')),
  };
}

function stateOf(text: string | undefined): EndpointState | undefined {
  return text === 'active' || text === 'suspended' || text === 'stopped' ? text : undefined;
}

/** Returns an endpoint group in its JSON form: without its own key. */
function endpointRow({ apiKey: _kept, ...row }: EndpointGroupRow) {
  return row;
}

const endpoint = commandsOf({
  noun: 'endpoint',
  called: 'endpoint group',
  row: endpointRow,
  columns: [
    { header: 'Id', text: ({ id }) => id },
    { header: 'Name', text: ({ name }) => name },
    { header: 'State', text: ({ state }) => state },
    { header: 'Min load', text: ({ minLoad }) => minLoad },
    { header: 'Target util', text: ({ targetUtilization }) => targetUtilization },
    { header: 'Cold workers', text: ({ coldWorkers }) => coldWorkers },
    { header: 'Max workers', text: ({ maxWorkers }) => maxWorkers },
    { header: 'Min cold load', text: ({ minColdLoad }) => minColdLoad, wide: true },
    { header: 'Cold mult', text: ({ coldMultiplier }) => coldMultiplier, wide: true },
    { header: 'Max queue', text: ({ maxQueueSeconds }) => seconds(maxQueueSeconds), wide: true },
    { header: 'Target queue', text: ({ targetQueueSeconds }) => seconds(targetQueueSeconds), wide: true },
    { header: 'Inactivity', text: (row) => seconds(row.inactivityTimeoutSeconds), wide: true },
  ],
});

/** Shows the endpoint groups that the marketplace scales. */
export const listEndpoints = endpoint.list({
  examples: ['gpu-rent list endpoints -o wide'],
  find: (client) => client.endpointGroups.list(),
});

/** Shows one endpoint group. */
export const getEndpoint: Command = {
  examples: ['gpu-rent get endpoint 12', 'gpu-rent get endpoint 12 --save-key endpoint.key'],
  args: [{ name: '<id>', description: 'The endpoint group.' }],
  options: [
    {
      flags: '--save-key <file>',
      description: "Write the endpoint's own key, which routing needs, to a file of mode 0600.",
    },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'endpoint');
    const path = textOption(input.options, '--save-key');
    await using file = path === undefined ? undefined : await reserveSecretFile(path, '--save-key');
    const group = await withMarketplace(input, context, ({ client }) => client.endpointGroups.get(id));
    if (group.apiKey) await file?.write(group.apiKey);
    await createOutput(input, context).row(endpoint.view, endpointRow(group));
    return 0;
  },
};

/** Creates an endpoint group that the marketplace itself scales (specification 4.9). */
export const createEndpoint = endpoint.create({
  description:
    "Options are spelt as in the service's own interface; dashes do as well. For a group that the operator scales, apply an EndpointGroup instead.",
  examples: [
    'gpu-rent create endpoint --endpoint_name chat --min_load 100 --max_workers 8',
    'gpu-rent create endpoint --endpoint-name chat --target-util 0.8 --inactivity-timeout 600',
  ],
  options: endpointOptionList('create'),
  request: ({ options }) => endpointOptions(options, true),
  send: (client, group) => client.endpointGroups.create(group),
});

/** Changes an endpoint group; options that are left out stay unchanged. */
export const updateEndpoint = endpoint.update({
  examples: [
    'gpu-rent update endpoint 12 --max_workers 4',
    'gpu-rent update endpoint 12 --endpoint-state suspended',
  ],
  options: [...endpointOptionList('update'), ENDPOINT_STATE],
  hint: '--max_workers 4',
  changes: ({ options }) => endpointOptions(options, false),
  send: (client, id, changes) => client.endpointGroups.update(id, changes),
});

export const deleteEndpoint = endpoint.change('delete', {
  did: 'deleted',
  question: (ids) => `Delete endpoint ${ids} with its worker groups?`,
  change: (client, id) => client.endpointGroups.delete(id),
});

function seconds(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value}s`;
}
