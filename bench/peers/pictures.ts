import type { Result } from './report.ts';
import { type Outcome, spreadOfFigure } from './rounds.ts';
import { titleOf } from './scenarios.ts';

/** A picture for docs/performance.md. */
export interface Picture {
  readonly name: string;
  readonly svg: string;
}

const COLOURS = ['#1f6feb', '#2da44e', '#bf8700', '#cf222e', '#8250df'];
const WIDTH = 720;
const LABEL = 200;
const BAR = 18;
const INK = '#57606a';

/** Bars of the figures that people ask for first, and the cost of an object from few to many. */
export function picturesOf(results: readonly Result[]): readonly Picture[] {
  const bursts = results.filter(({ scenario }) => scenario.name.startsWith('burst') && !scenario.paced);
  const largest = bursts.toSorted(bySize).at(-1);
  const curve = results.filter(({ scenario }) => scenario.roundTripMs === 0 && !scenario.paced);
  return [
    ...(largest
      ? [
          {
            name: 'performance-burst',
            svg: barChart(largest, [
              'all rented, s',
              'all running, s',
              'processor time per object, ms',
              'resident at the peak, MiB',
            ]),
          },
        ]
      : []),
    ...(curve.length > 1
      ? [
          {
            name: 'performance-growth',
            svg: growthChart(curve.toSorted(bySize), 'processor time per object, ms'),
          },
        ]
      : []),
  ];
}

const bySize = (one: Result, other: Result): number =>
  one.scenario.plan.objects - other.scenario.plan.objects;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x}" y="${y}" fill="${INK}" ${more}>${escaped(content)}</text>`;

const colourOf = (index: number): string => COLOURS[index % COLOURS.length] ?? INK;

function svg(height: number, title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

/** Draws the median as a bar, with a line over it from minimum to maximum. A failed contender has no bar. */
export function barChart({ scenario, outcomes }: Result, figures: readonly string[]): string {
  const parts = [text(10, 20, titleOf(scenario), 'font-weight="bold"')];
  let y = 40;
  for (const figure of figures) {
    parts.push(text(10, y, figure));
    y += 8;
    const spreads = outcomes.map((outcome) => spreadOfFigure(outcome, figure));
    const most = Math.max(...spreads.map((spread) => spread?.most ?? 0), Number.MIN_VALUE);
    const scale = (WIDTH - LABEL - 90) / most;
    for (const [index, outcome] of outcomes.entries()) {
      const spread = spreads[index];
      parts.push(text(20, y + 13, outcome.name));
      if (spread) {
        const [width, middle] = [spread.median * scale, y + BAR / 2 - 2];
        parts.push(
          `<rect x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 4}" fill="${colourOf(index)}"/>`,
          `<line x1="${(LABEL + spread.least * scale).toFixed(1)}" x2="${(LABEL + spread.most * scale).toFixed(1)}" y1="${middle}" y2="${middle}" stroke="#24292f"/>`,
          text(LABEL + spread.most * scale + 6, y + 12, spread.median.toPrecision(3)),
        );
      } else parts.push(text(LABEL, y + 12, outcome.type === 'failed' ? 'failed' : 'not measured'));
      y += BAR;
    }
    y += 22;
  }
  return svg(y, titleOf(scenario), parts);
}

const PLOT = { left: 70, top: 40, width: 480, height: 220 } as const;

/**
 * Draws a chart with two logarithmic axes: a horizontal line is a cost that does not depend on the number of objects.
 */
export function growthChart(results: readonly Result[], figure: string): string {
  const names = [...new Set(results.flatMap(({ outcomes }) => outcomes.map(({ name }) => name)))];
  const lines = names.map((name) => ({ name, points: pointsOf(results, name, figure) }));
  const all = lines.flatMap(({ points }) => points);
  const x = axis(
    all.map(({ objects }) => objects),
    PLOT.left,
    PLOT.width,
  );
  const y = axis(
    all.map(({ value }) => value),
    PLOT.top + PLOT.height,
    -PLOT.height,
  );
  const parts = [text(10, 20, `${figure}, by the number of objects`, 'font-weight="bold"')];
  for (const mark of x.marks)
    parts.push(
      `<line x1="${x.at(mark)}" x2="${x.at(mark)}" y1="${PLOT.top}" y2="${PLOT.top + PLOT.height}" stroke="#d0d7de"/>`,
      text(x.at(mark), PLOT.top + PLOT.height + 18, String(mark), 'text-anchor="middle"'),
    );
  for (const mark of y.marks)
    parts.push(
      `<line x1="${PLOT.left}" x2="${PLOT.left + PLOT.width}" y1="${y.at(mark)}" y2="${y.at(mark)}" stroke="#d0d7de"/>`,
      text(PLOT.left - 8, y.at(mark) + 4, String(mark), 'text-anchor="end"'),
    );
  for (const [index, { name, points }] of lines.entries()) {
    const path = points.map((point) => `${x.at(point.objects)},${y.at(point.value)}`).join(' ');
    parts.push(
      `<polyline points="${path}" fill="none" stroke="${colourOf(index)}" stroke-width="2"/>`,
      ...points.map(
        (point) =>
          `<circle cx="${x.at(point.objects)}" cy="${y.at(point.value)}" r="3" fill="${colourOf(index)}"/>`,
      ),
      `<rect x="${PLOT.left + PLOT.width + 12}" y="${PLOT.top + index * 20}" width="10" height="10" fill="${colourOf(index)}"/>`,
      text(PLOT.left + PLOT.width + 26, PLOT.top + 9 + index * 20, name, 'font-size="10"'),
    );
  }
  return svg(PLOT.top + PLOT.height + 30, figure, parts);
}

interface Point {
  readonly objects: number;
  readonly value: number;
}

function pointsOf(results: readonly Result[], name: string, figure: string): readonly Point[] {
  const points = results.flatMap(({ scenario, outcomes }) => {
    const outcome: Outcome | undefined = outcomes.find((candidate) => candidate.name === name);
    const spread = spreadOfFigure(outcome, figure);
    return spread && spread.median > 0 ? [[scenario.plan.objects, spread.median] as const] : [];
  });
  // A size that more than one scenario has is shown once, by the last of them.
  return [...new Map(points)].map(([objects, value]) => ({ objects, value }));
}

interface Axis {
  readonly marks: readonly number[];
  at(value: number): number;
}

/** Powers of ten from below the smallest value to above the largest. */
function axis(values: readonly number[], start: number, length: number): Axis {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    marks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
    at: (value) => Math.round((start + ((Math.log10(value) - low) / (high - low)) * length) * 10) / 10,
  };
}
