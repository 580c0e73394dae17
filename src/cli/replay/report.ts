import type { Summary, Tick } from './outcome.ts';
import type { Outcome } from './replay.ts';

/** In this order they are printed. */
export const TICK_COLUMNS = [
  'seconds',
  'load',
  'hot',
  'cold',
  'ready',
  'desiredHot',
  'desiredTotal',
  'queueSeconds',
  'rejected',
  'dollars',
] as const satisfies readonly (keyof Tick)[];

/** One line per tick under a line of names. */
export function csvOf({ ticks }: Outcome): string {
  const lines = ticks.map((tick) => TICK_COLUMNS.map((column) => plain(tick[column])).join(','));
  return `${[TICK_COLUMNS.join(','), ...lines].join('\n')}\n`;
}

/** Two lines, each one JSON value: the array of ticks, then the summary. */
export function jsonOf({ ticks, summary }: Outcome): string {
  return `${JSON.stringify(ticks)}\n${JSON.stringify(summary)}\n`;
}

/** Without exponent, as every reader of CSV takes it. */
function plain(value: number): string {
  const text = String(value);
  return /e/.test(text) ? value.toFixed(6).replace(/\.?0+$/, '') : text;
}

/** The summary as sentences for people. */
export function summaryText(summary: Summary): string {
  const { offered, served, rejected, rejectedPercent, queued } = summary;
  return [
    `${hours(summary.seconds)}: offered ${short(offered)}, served ${short(served)}, rejected ${short(rejected)} (${short(rejectedPercent)} %), waiting at the end ${short(queued)}`,
    `queue ${short(summary.meanQueueSeconds)} s in the mean, ${short(summary.peakQueueSeconds)} s at most`,
    `workers ${summary.peakHot} hot and ${summary.peakTotal} in all at most, ${summary.rented} rented, ${summary.woken} woken`,
    `$${summary.dollars.toFixed(2)}`,
    '',
  ].join('\n');
}

function hours(seconds: number): string {
  return seconds >= 3600 ? `${short(seconds / 3600)} h` : `${seconds} s`;
}

/** Two digits behind the point. */
export function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}
