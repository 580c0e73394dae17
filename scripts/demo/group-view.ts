import { styleText } from 'node:util';
import { formatDollars, parseDollars } from '../../src/lib/money.ts';
import type { GroupSighting } from './group-sighting.ts';
import { plainView } from './live-view.ts';
import { Screen, type Terminal } from './screen.ts';

/** One look at the group, and at what only the gateway and the marketplace know. */
export interface GroupMoment {
  readonly group: GroupSighting;
  /** Work per second that arrives. */
  readonly offered: number;
  /** Work in the workers. */
  readonly queued: number;
  /** Requests turned away so far. */
  readonly rejected: number;
  /** By the marketplace's own ledger. */
  readonly dollars: number;
}

/** How the demo of a group tells what happens. */
export interface GroupView {
  heading(text: string): void;
  say(text: string): void;
  show(moment: GroupMoment): void;
}

const DOTS = '▁▂▃▄▅▆▇█';
/** Seconds that the picture spans, one block each. */
const WIDTH = 60;

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
    tell: ({ group }) => `${group.cold} cold, ${group.total} in all`,
  },
  {
    name: '$/h',
    figureOf: ({ group }) => parseDollars(group.pricePerHour) ?? 0,
    tell: ({ group, dollars }) => `$${group.pricePerHour}/h, $${dollarsOf(dollars)} spent`,
  },
];

/** Dollars as the ledger sums them, to a hundredth of a cent. */
export function dollarsOf(dollars: number): string {
  return formatDollars(Math.round(dollars * 10_000) * 100);
}

/** The picture of a moment per second: a line per figure with its past, and the last decision. */
export function pictureOf(moments: readonly GroupMoment[]): readonly string[] {
  const last = moments.at(-1);
  if (!last) return [];
  const rows = ROWS.map(({ name, figureOf, tell }) => {
    const values = moments.slice(-WIDTH).map(figureOf);
    const line = sparkline(values, Math.max(...moments.map(figureOf)));
    return `${name.padEnd(6)}${line.padEnd(WIDTH)}  ${tell(last)}`;
  });
  return ['', ...rows, `${last.group.phase.padEnd(9)} ${last.group.because}`];
}

/** For terminals: what is said scrolls, and below it the picture moves. */
export function terminalGroupView(out: Terminal): GroupView {
  const screen = new Screen(out);
  const lines = plainView({ write: (text) => screen.above(text) });
  const bySecond = new Map<number, GroupMoment>();
  return {
    heading: (text) => lines.heading(styleText('bold', text)),
    say: lines.say,
    show(moment) {
      bySecond.set(Math.floor(performance.now() / 1000), moment);
      screen.below(pictureOf([...bySecond.values()]));
    },
  };
}

/** For logs and pipes: a line where a number of workers has changed. */
export function plainGroupView(out: { write(text: string): unknown }): GroupView {
  const lines = plainView(out);
  let before = '';
  return {
    heading: lines.heading,
    say: lines.say,
    show(moment) {
      const { hot, ready, cold, total, draining, phase } = moment.group;
      const now = [hot, ready, cold, total, draining, phase].join();
      if (now === before) return;
      before = now;
      lines.say(`${phase}: ${ROWS.map(({ tell }) => tell(moment)).join('; ')}`);
    },
  };
}
