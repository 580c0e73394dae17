import { formatDollars, parseDollars } from '../../src/lib/money.ts';
import { wrapWords } from './fit.ts';
import type { GroupSighting } from './group-sighting.ts';
import { plainView, scrollingView } from './live-view.ts';
import { Screen, type Terminal, widthOf } from './screen.ts';

/** State of the group at one time, with figures that only the gateway and the marketplace know. */
export interface GroupMoment {
  readonly group: GroupSighting;
  /** Work per second that arrives. */
  readonly offered: number;
  /** Work in the workers. */
  readonly queued: number;
  /** Requests turned away so far. */
  readonly rejected: number;
  /** Total cost in dollars by the marketplace's own ledger. */
  readonly dollars: number;
}

/** Output of the demo of a group. */
export interface GroupView {
  heading(text: string): void;
  say(text: string): void;
  command(text: string): void;
  failed(why: string): void;
  show(moment: GroupMoment): void;
}

const DOTS = '▁▂▃▄▅▆▇█';
/** Seconds that the picture spans, one block each, where the terminal is wide enough. */
const SECONDS = 60;
const FEWEST_SECONDS = 8;
/** Cells of a row beside its blocks: the name before them, and behind them the longest figures. */
const NAME = 6;
const FIGURES = 40;
/** Cells of the phase before the last decision. */
const PHASE = 10;

/** Values as one line of blocks; the highest block is `top`. */
export function sparkline(values: readonly number[], top: number): string {
  return values
    .map((value) => {
      if (value <= 0 || top <= 0) return ' ';
      return DOTS[Math.min(DOTS.length - 1, Math.floor((value / top) * DOTS.length))];
    })
    .join('');
}

interface Row {
  readonly name: string;
  readonly figureOf: (moment: GroupMoment) => number;
  readonly tell: (moment: GroupMoment) => string;
}

const ROWS: readonly Row[] = [
  {
    name: 'load',
    figureOf: ({ offered }) => offered,
    tell: ({ offered, group }) => `${Math.round(offered)}/s offered, ${Math.round(group.load)}/s seen`,
  },
  {
    name: 'queue',
    figureOf: ({ queued }) => queued,
    tell: ({ queued, rejected }) => `${Math.round(queued)} waiting, ${rejected} requests rejected`,
  },
  {
    name: 'hot',
    figureOf: ({ group }) => group.hot,
    tell: ({ group }) => `${group.hot} hot, ${group.ready} ready, ${group.draining} draining`,
  },
  {
    name: 'cold',
    figureOf: ({ group }) => group.cold,
    tell: ({ group }) => `${group.cold} cold, ${group.total} total`,
  },
  {
    name: '$/h',
    figureOf: ({ group }) => parseDollars(group.pricePerHour) ?? 0,
    tell: ({ group, dollars }) => `$${group.pricePerHour}/h, $${dollarsOf(dollars)} spent`,
  },
];

/** Returns dollars with the ledger's precision, a hundredth of a cent. */
export function dollarsOf(dollars: number): string {
  return formatDollars(Math.round(dollars * 10_000) * 100);
}

/** Returns a picture of one moment per second: a line per figure with its history, and the last decision. */
export function pictureOf(moments: readonly GroupMoment[], width: number): readonly string[] {
  const last = moments.at(-1);
  if (!last) return [];
  const span = Math.max(FEWEST_SECONDS, Math.min(SECONDS, width - NAME - FIGURES));
  const rows = ROWS.map(({ name, figureOf, tell }) => {
    const values = moments.slice(-span).map(figureOf);
    const line = sparkline(values, Math.max(...moments.map(figureOf)));
    return `${name.padEnd(NAME)}${line.padEnd(span)}  ${tell(last)}`;
  });
  const { phase, because } = last.group;
  return ['', ...rows, ...wrapWords(`${phase.padEnd(PHASE - 1)} ${because}`.trimEnd(), width, PHASE)];
}

/** Creates the view for terminals: text scrolls above a moving picture. */
export function terminalGroupView(out: Terminal): GroupView {
  const screen = new Screen(out);
  const bySecond = new Map<number, GroupMoment>();
  return {
    ...scrollingView(screen, out),
    show(moment) {
      bySecond.set(Math.floor(performance.now() / 1000), moment);
      screen.below(pictureOf([...bySecond.values()], widthOf(out)));
    },
  };
}

/** Creates the view for logs and pipes: a line for each changed number of workers. */
export function plainGroupView(out: { write(text: string): unknown }): GroupView {
  const lines = plainView(out);
  let before = '';
  return {
    ...lines,
    show(moment) {
      const { hot, ready, cold, total, draining, phase } = moment.group;
      const now = [hot, ready, cold, total, draining, phase].join();
      if (now === before) return;
      before = now;
      lines.say(`${phase}: ${ROWS.map(({ tell }) => tell(moment)).join('; ')}`);
    },
  };
}
