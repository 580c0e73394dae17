/** Recordings of a terminal: as an asciicast, which asciinema plays, and as a picture of its last lines. */

/** Output of a terminal over time. */
export interface Recording {
  readonly columns: number;
  readonly rows: number;
  readonly title: string;
  readonly events: readonly { readonly seconds: number; readonly text: string }[];
}

/** Returns version 2 of the asciicast format: a header, then a line per event. */
export function asciicast({ columns, rows, title, events }: Recording): string {
  const header = { version: 2, width: columns, height: rows, title, env: { TERM: 'xterm-256color' } };
  const lines = events.map(({ seconds, text }) =>
    JSON.stringify([Number(seconds.toFixed(3)), 'o', text.replaceAll('\n', '\r\n')]),
  );
  return [JSON.stringify(header), ...lines, ''].join('\n');
}

const CELL = { width: 8.4, height: 19 };
const MARGIN = 16;
const BAR = 30;
const COLOURS = { back: '#16212e', bar: '#22303f', text: '#d5dde6', command: '#8fd3ff', prompt: '#7bd88f' };

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const cut = (line: string, columns: number): string =>
  line.length > columns ? `${line.slice(0, columns - 1)}…` : line;

function rowOf(line: string, { at, columns }: { readonly at: number; readonly columns: number }): string {
  const y = BAR + MARGIN + (at + 1) * CELL.height - 5;
  const shown = cut(line, columns);
  const isCommand = shown.startsWith('$ ');
  const text = isCommand
    ? `<tspan fill="${COLOURS.prompt}">$</tspan><tspan fill="${COLOURS.command}">${escaped(shown.slice(1))}</tspan>`
    : escaped(shown);
  return `  <text x="${MARGIN}" y="${y}" xml:space="preserve">${text}</text>`;
}

/** Returns the last rows that fit, as an SVG with the title of the recording. Too long lines are cut. */
export function terminalPicture({ columns, rows, title, events }: Recording): string {
  const all = events.map(({ text }) => text).join('');
  const lines = all.trimEnd().split('\n').slice(-rows);
  const width = Math.round(columns * CELL.width + 2 * MARGIN);
  const height = BAR + 2 * MARGIN + lines.length * CELL.height;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `  <rect width="${width}" height="${height}" rx="8" fill="${COLOURS.back}"/>`,
    `  <path d="M0 8a8 8 0 0 1 8-8h${width - 16}a8 8 0 0 1 8 8v${BAR - 8}h-${width}z" fill="${COLOURS.bar}"/>`,
    `  <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${COLOURS.text}">`,
    `  <text x="${MARGIN}" y="20" font-size="13" opacity="0.7">${escaped(title)}</text>`,
    ...lines.map((line, at) => rowOf(line, { at, columns })),
    '  </g>',
    '</svg>',
    '',
  ].join('\n');
}
