import type { Outcome, Tick } from '../views/replay.ts';

const WIDTH = 960;
const LEFT = 70;
const RIGHT = 20;
const TOP = 60;
const PANEL = 150;
const GAP = 45;
/** Maximum columns that a screen can distinguish. */
const MAX_COLUMNS = 720;

interface Line {
  readonly name: string;
  readonly color: string;
  readonly value: (tick: Tick) => number;
  readonly isFilled?: boolean;
}

interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
}

/** Panels, in colors that color-blind readers can distinguish. */
const PANELS: readonly Panel[] = [
  {
    title: 'work offered per second',
    lines: [{ name: 'load', color: '#4477aa', value: ({ load }) => load, isFilled: true }],
  },
  {
    title: 'workers',
    lines: [
      { name: 'hot + cold', color: '#888888', value: ({ hot, cold }) => hot + cold, isFilled: true },
      { name: 'hot', color: '#ee6677', value: ({ hot }) => hot },
      { name: 'ready', color: '#228833', value: ({ ready }) => ready },
    ],
  },
  {
    title: 'queue in seconds, and work rejected per second',
    lines: [
      { name: 'queue', color: '#aa7700', value: ({ queueSeconds }) => queueSeconds, isFilled: true },
      { name: 'rejected', color: '#ee6677', value: ({ rejected }) => rejected / 10 },
    ],
  },
  {
    title: 'dollars spent',
    lines: [{ name: 'dollars', color: '#aa3377', value: ({ dollars }) => dollars }],
  },
];

/** Returns a replay as an SVG: load, workers, queue and cost over one time axis. */
export function pictureOf({ ticks, summary }: Outcome, title: string): string {
  const height = TOP + PANELS.length * (PANEL + GAP);
  const count = Math.min(ticks.length, MAX_COLUMNS);
  const edge = (index: number) => Math.floor((index * ticks.length) / count);
  const columns = Array.from({ length: count }, (_, index) => ticks.slice(edge(index), edge(index + 1)));
  const result = `${twoDigits(summary.rejectedPercent)} % rejected, ${twoDigits(summary.meanQueueSeconds)} s mean queue, $${summary.dollars.toFixed(2)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(`${title}: ${result}`)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="24" font-size="16">${escaped(title)}</text>`,
    `<text x="${WIDTH - RIGHT}" y="24" text-anchor="end" fill="#555555">${escaped(result)}</text>`,
    ...PANELS.map((panel, index) =>
      panelOf(panel, { columns, top: TOP + index * (PANEL + GAP), seconds: summary.seconds }),
    ),
    '</svg>',
    '',
  ].join('\n');
}

interface Place {
  readonly columns: readonly (readonly Tick[])[];
  readonly top: number;
  readonly seconds: number;
}

function panelOf({ title, lines }: Panel, { columns, top, seconds }: Place): string {
  const bottom = top + PANEL;
  const curves = lines.map((line) => ({ ...line, peaks: peaksOf(line, columns) }));
  const max = Math.max(1e-9, ...curves.flatMap(({ peaks }) => peaks));
  const names = lines.map(({ name, color }, index) => {
    const x = WIDTH - RIGHT - (lines.length - 1 - index) * 90;
    return `<text x="${x}" y="${top - 8}" text-anchor="end" fill="${color}">${escaped(name)}</text>`;
  });
  return [
    `<text x="${LEFT}" y="${top - 8}">${escaped(title)}</text>`,
    ...names,
    `<text x="${LEFT - 6}" y="${top + 10}" text-anchor="end" fill="#555555">${twoDigits(max)}</text>`,
    `<text x="${LEFT - 6}" y="${bottom}" text-anchor="end" fill="#555555">0</text>`,
    ...curves.map((curve) => curveOf(curve, { max, top, bottom })),
    `<line x1="${LEFT}" y1="${bottom}" x2="${WIDTH - RIGHT}" y2="${bottom}" stroke="#999999"/>`,
    ...hourMarks(seconds, bottom),
  ].join('\n');
}

/** Returns the largest value of each column, so that a short burst is visible in a long run. */
function peaksOf({ value }: Line, columns: Place['columns']): readonly number[] {
  return columns.map((ticks) => ticks.reduce((max, tick) => Math.max(max, value(tick)), 0));
}

interface Curve extends Line {
  readonly peaks: readonly number[];
}

interface Bounds {
  readonly max: number;
  readonly top: number;
  readonly bottom: number;
}

function curveOf({ color, peaks, isFilled }: Curve, { max, top, bottom }: Bounds): string {
  const step = (WIDTH - RIGHT - LEFT) / Math.max(1, peaks.length - 1);
  const points = peaks.map((peak, index) => {
    const y = bottom - (peak / max) * (bottom - top);
    return `${(LEFT + index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  const line = `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="1.5"/>`;
  if (!isFilled) return line;
  const end = (LEFT + (peaks.length - 1) * step).toFixed(1);
  const area = `${LEFT},${bottom} ${points.join(' ')} ${end},${bottom}`;
  return `<polygon points="${area}" fill="${color}" fill-opacity="0.25"/>${line}`;
}

/** Candidate distances between two marks, in seconds; the first with at most `MAX_MARKS` marks is used. */
const MARK_STEPS = [10, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800];
const MAX_MARKS = 10;

function hourMarks(seconds: number, bottom: number): readonly string[] {
  const step = MARK_STEPS.find((candidate) => seconds / candidate <= MAX_MARKS) ?? seconds;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => {
    const x = LEFT + ((WIDTH - RIGHT - LEFT) * index * step) / seconds;
    return `<text x="${x.toFixed(1)}" y="${bottom + 14}" text-anchor="middle" fill="#555555">${timeText(index * step)}</text>`;
  });
}

function timeText(seconds: number): string {
  if (seconds === 0) return '0';
  if (seconds % 3600 === 0) return `${seconds / 3600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

function twoDigits(value: number): string {
  return String(value >= 100 ? Math.round(value) : Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
