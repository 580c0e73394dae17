import { setImmediate } from 'node:timers/promises';
import type { WhatIf } from '../../replay/replay.ts';
import type { Outcome, Tick } from '../../views/replay.ts';
import { formatTable } from '../../views/table.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { usageError } from '../command-error.ts';
import { textOption } from '../option-values.ts';
import { readTextFile } from '../secrets/secret-input.ts';

/** Replays a load through the operator's own scaling rules: effects and cost of these settings. */
export const simulateEpg: Command = {
  description: [
    "Decides by the operator's own code, with simulated queues, rejections, boots and wakes. Reads no cluster and costs nothing; the same files give the same figures on every machine.",
    '--trace is a CSV with the columns seconds,load: from that second on, so many work units arrive per second. Its first row may also say the state of the group at the beginning, in the columns hot, cold (workers) and queue (work units).',
    '--workers is a YAML list of workers in the order in which they are rented; the last one repeats: [{perf: 100, pricePerHour: "0.40", coldPricePerHour: "0.02", boot: 3m, wake: 20s, count: 2}]. One with state: Hot or state: Cold is there at the beginning. What is left out is taken from the group.',
    'Each tick of 10 s begins at `seconds` with a decision; hot, cold, ready and wanted are those after it, load and rejected (work units) belong to the tick, queueSeconds and dollars (spent so far) to its end. -o json prints two lines: an array of ticks, then one object with the summary. -o wide prints the ticks below the summary, -o csv the ticks alone, -o svg the picture.',
  ].join('\n\n'),
  examples: [
    'gpu-rent simulate epg -f group.yaml --trace load.csv',
    'gpu-rent simulate epg -f group.yaml --trace load.csv --workers workers.yaml -o csv',
    'gpu-rent simulate epg -f group.yaml --trace load.csv -o svg > picture.svg',
    'gpu-rent simulate epg -f group.yaml --trace load.csv -o json | tail -n 1 | jq .dollars',
  ],
  options: [
    { flags: '-f, --filename <file>', description: 'The manifest of the EndpointGroup; - is stdin.' },
    { flags: '--trace <file>', description: 'The offered load, CSV; - is stdin.' },
    { flags: '--workers <file>', description: 'Capacity and cost of workers, YAML; - is stdin.' },
    {
      flags: '-o, --output <format>',
      description: 'Format of the result.',
      choices: ['table', 'wide', 'json', 'csv', 'svg'],
      defaultValue: 'table',
    },
  ],
  async run(input, context) {
    const { name, whatIf, note } = await readWhatIf(input, context);
    if (note !== undefined) context.stderr.write(`${note}\n`);
    const outcome = await replayed(whatIf, context.signal);
    context.stdout.write(await shown(outcome, textOption(input.options, '--output'), name));
    return 0;
  },
};

/** Ticks per turn of the event loop, a fraction of a second: Ctrl-C also ends a replay of a month. */
const TICKS_AT_ONCE = 1000;

async function replayed(whatIf: WhatIf, signal: AbortSignal): Promise<Outcome> {
  const { replayTicks } = await import('../../replay/replay.ts');
  const ticks = replayTicks(whatIf);
  for (let count = 1; ; count += 1) {
    const step = ticks.next();
    if (step.done) return step.value;
    if (count % TICKS_AT_ONCE > 0) continue;
    await setImmediate();
    signal.throwIfAborted();
  }
}

interface Question {
  readonly name: string;
  readonly whatIf: WhatIf;
  /** Assumptions. */
  readonly note: string | undefined;
}

async function readWhatIf(input: CommandInput, context: CommandContext): Promise<Question> {
  const files = filesOf(input);
  const [{ readGroup }, { readTrace }, { usualWorker, usualWorkerNote }, { readWorkers }, { beginWith }] =
    await Promise.all([
      import('../simulate/group-file.ts'),
      import('../simulate/trace-file.ts'),
      import('../simulate/workers.ts'),
      import('../simulate/workers.ts'),
      import('../simulate/workers.ts'),
    ]);
  const { mostExpensiveOffer } = await import('../../controllers/endpoint-group/public.ts');
  const { name, spec } = readGroup(await readTextFile(files.group, '-f', context), files.group);
  const trace = readTrace(await readTextFile(files.trace, '--trace', context), files.trace);
  const maxPrice = mostExpensiveOffer(spec);
  const usual = usualWorker(spec, maxPrice);
  const question = { spec, trace, traceFile: files.trace };
  if (files.workers === undefined) {
    const note = usualWorkerNote(spec, usual, maxPrice);
    return { name, note, whatIf: beginWith(question, { first: [], models: [usual] }) };
  }
  const text = await readTextFile(files.workers, '--workers', context);
  const workers = readWorkers(text, files.workers, { usual, maxPrice });
  return { name, note: undefined, whatIf: beginWith(question, workers) };
}

interface Files {
  readonly group: string;
  readonly trace: string;
  readonly workers: string | undefined;
}

function filesOf({ options }: CommandInput): Files {
  const group = textOption(options, '--filename');
  const trace = textOption(options, '--trace');
  const workers = textOption(options, '--workers');
  if (group === undefined) throw usageError('No group was given.', 'Give -f group.yaml, or -f - for stdin.');
  if (trace === undefined)
    throw usageError('No load was given.', 'Give --trace load.csv with the columns seconds,load.');
  if ([group, trace, workers].filter((file) => file === '-').length > 1)
    throw usageError('Only one file can come from stdin.', 'Give the others by their path.');
  return { group, trace, workers };
}

async function shown(outcome: Outcome, format: string | undefined, name: string): Promise<string> {
  const { csvOf, jsonOf, summaryText } = await import('../../views/replay.ts');
  switch (format) {
    case 'json':
      return jsonOf(outcome);
    case 'csv':
      return csvOf(outcome);
    case 'svg': {
      const { pictureOf } = await import('../../replay/chart.ts');
      return pictureOf(outcome, `epg/${name}`);
    }
    case 'wide':
      return `${summaryText(outcome.summary)}\n${await tableOf(outcome.ticks)}`;
    default:
      return summaryText(outcome.summary);
  }
}

async function tableOf(ticks: readonly Tick[]): Promise<string> {
  const { short, TICK_COLUMNS } = await import('../../views/replay.ts');
  const columns = TICK_COLUMNS.map((column) => ({
    header: column,
    text: (tick: Tick) => (column === 'dollars' ? tick.dollars.toFixed(4) : short(tick[column])),
  }));
  return formatTable(columns, ticks);
}
