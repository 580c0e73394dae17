import type { EndpointGroupOptions, EndpointState } from '../../marketplace/groups/endpoint-group.ts';
import type { CommandOption, OptionValues } from '../command.ts';
import { type NumberBounds, numberOption, textOption } from './option-values.ts';

type NumberField = Exclude<keyof EndpointGroupOptions, 'endpointName' | 'autoscalerInstance' | 'state'>;

/** One option of specification 4.9 that holds a number. */
interface NumberFlag extends NumberBounds {
  readonly flag: string;
  readonly field: NumberField;
  /** As the specification states it; applied when a group is created. */
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
      'Least load that is kept served, in performance units per second (tokens for language models).',
  },
  {
    flag: '--min_cold_load',
    field: 'minColdLoad',
    standard: 0,
    min: 0,
    description: 'The same, but cold workers may serve it.',
  },
  {
    flag: '--target_util',
    field: 'targetUtilization',
    standard: 0.9,
    min: 0.01,
    max: 1,
    description: 'Share of the capacity that is to be used, at most 1.',
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
    description: 'Least number of workers kept cold without load.',
  },
  {
    flag: '--max_workers',
    field: 'maxWorkers',
    standard: 20,
    min: 0,
    whole: true,
    description: 'Most workers of the group.',
  },
  {
    flag: '--max_queue_time',
    field: 'maxQueueSeconds',
    standard: 30,
    min: 0,
    description: 'Seconds that work may queue at a worker.',
  },
  {
    flag: '--target_queue_time',
    field: 'targetQueueSeconds',
    standard: 10,
    min: 0,
    description: 'Seconds in which the queue is to be cleared.',
  },
  {
    flag: '--inactivity_timeout',
    field: 'inactivityTimeoutSeconds',
    standard: undefined,
    whole: true,
    description: 'Seconds without traffic before no worker is active; 0: off, negative: never to zero.',
  },
];

/** The options of specification 4.9, spelt as there; dashes do as well. */
export function endpointOptionList(purpose: 'create' | 'update'): readonly CommandOption[] {
  const told = (flag: NumberFlag) =>
    purpose === 'create' && flag.standard !== undefined ? ` Default: ${flag.standard}.` : '';
  return [
    {
      flags: '--endpoint_name <name>',
      description: 'Name of the endpoint; groups with the same one share it.',
    },
    ...NUMBER_FLAGS.map((flag) => ({
      flags: `${flag.flag} <number>`,
      description: `${flag.description}${told(flag)}`,
    })),
    {
      flags: '--autoscaler_instance <name>',
      description: 'Which autoscaler of the service works for it.',
    },
  ];
}

/** Changes the state of a group that exists. */
export const ENDPOINT_STATE: CommandOption = {
  flags: '--endpoint_state <state>',
  description: 'Whether it serves.',
  choices: ['active', 'suspended', 'stopped'],
};

/** What the options say; with `standard` the specification's defaults stand where nothing was given. */
export function endpointOptions(options: OptionValues, standard: boolean): EndpointGroupOptions {
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

function stateOf(word: string | undefined): EndpointState | undefined {
  return word === 'active' || word === 'suspended' || word === 'stopped' ? word : undefined;
}
