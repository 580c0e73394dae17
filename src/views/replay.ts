import * as z from 'zod';

const tickSchema = z.strictObject({
  seconds: z.number().describe('Start of the tick in the time of the trace. A tick lasts 10 s.'),
  load: z.number().describe('Offered work units per second.'),
  hot: z.number().describe('Workers that run or are starting, after the decision.'),
  cold: z.number().describe('Workers that are stopped or stopping, after the decision.'),
  ready: z.number().describe('Hot workers that serve.'),
  desiredHot: z.number(),
  desiredTotal: z.number(),
  queueSeconds: z
    .number()
    .describe(
      'Time that ready workers need for the work that waits; the age of the oldest if none is ready.',
    ),
  rejected: z.number().describe('Work units rejected during the tick.'),
  dollars: z.number().describe('Cost from the start to the end of the tick.'),
});

export const ticksSchema = z.array(tickSchema).readonly();

export const replaySummarySchema = z.strictObject({
  seconds: z.number().describe('From the start of the first tick to the end of the last.'),
  offered: z.number().describe('Work units, as in the next three fields.'),
  served: z.number(),
  rejected: z.number(),
  queued: z.number().describe('Waiting at the end, start values included.'),
  rejectedPercent: z.number(),
  meanQueueSeconds: z.number().describe('Over all work that a worker accepted.'),
  peakQueueSeconds: z.number().describe('Maximum of the ticks.'),
  peakHot: z.number(),
  peakTotal: z.number().describe('Maximum of all workers at one time, draining ones included.'),
  rented: z.number(),
  woken: z.number(),
  dollars: z.number(),
});

/** A tick of a replay, after its decision. */
export type Tick = z.infer<typeof tickSchema>;

/** Figures of a whole replay. */
export type Summary = z.infer<typeof replaySummarySchema>;

/** Ticks of a replay and their summary. */
export interface Outcome {
  readonly ticks: readonly Tick[];
  readonly summary: Summary;
}

/** Columns of a tick, in the order in which they are printed. */
export const TICK_COLUMNS = Object.keys(tickSchema.shape) as readonly (keyof Tick)[];

/** Returns one line per tick below a line of names. */
export function csvOf({ ticks }: Outcome): string {
  const lines = ticks.map((tick) => TICK_COLUMNS.map((column) => plain(tick[column])).join(','));
  return `${[TICK_COLUMNS.join(','), ...lines].join('\n')}\n`;
}

/** Returns two lines, each one JSON value: the array of ticks, then the summary. */
export function jsonOf({ ticks, summary }: Outcome): string {
  return `${JSON.stringify(ticks)}\n${JSON.stringify(summary)}\n`;
}

/** Returns a number without exponent, which every reader of CSV accepts. */
function plain(value: number): string {
  const text = String(value);
  return /e/.test(text) ? value.toFixed(6).replace(/\.?0+$/, '') : text;
}

/** Returns the summary as sentences for people. */
export function summaryText(summary: Summary): string {
  const { offered, served, rejected, rejectedPercent, queued } = summary;
  return [
    `${hours(summary.seconds)}: offered ${short(offered)}, served ${short(served)}, rejected ${short(rejected)} (${short(rejectedPercent)} %), waiting at end ${short(queued)}`,
    `queue ${short(summary.meanQueueSeconds)} s mean, ${short(summary.peakQueueSeconds)} s max`,
    `workers max ${summary.peakHot} hot, max ${summary.peakTotal} total, ${summary.rented} rented, ${summary.woken} woken`,
    `$${summary.dollars.toFixed(2)}`,
    '',
  ].join('\n');
}

function hours(seconds: number): string {
  return seconds >= 3600 ? `${short(seconds / 3600)} h` : `${seconds} s`;
}

/** Returns a number with two digits after the point. */
export function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}
