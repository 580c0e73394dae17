import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { type Column, formatDetails, formatTable, type TableOptions } from '../../views/table.ts';
import { createProgress } from './output.ts';

const columns = [
  { header: 'Name', text: ({ name }: Row) => name },
  { header: 'Note', text: ({ note }: Row) => note },
  { header: 'More', text: () => 'x', wide: true },
];

interface Row {
  readonly name: string;
  readonly note?: string;
}

const red = (text: string) => `\u001b[31m${text}\u001b[39m`;

test('columns stand three spaces apart, and a dash where there is nothing', () => {
  const rows = [{ name: 'a-long-name', note: 'two\nlines' }, { name: 'b' }];
  expect(formatTable(columns, rows)).toBe(
    ['NAME          NOTE', 'a-long-name   two lines', 'b             -', ''].join('\n'),
  );
  expect(formatTable(columns, [{ name: 'b' }], { headers: false, wide: true })).toBe('b   -   x\n');
});

test('a table may be longer than a call may have arguments', () => {
  const rows = Array.from({ length: 150_000 }, (_, index) => ({ name: String(index) }));
  expect(formatTable(columns, rows).split('\n')).toHaveLength(150_002);
});

const STEERING = 'a\u001b]52;c;cm0gLXJmIH4=\u0007\u001b[2A\r\u009b2Jb\tc\n  d';

test('text in a cell stays on its line and cannot steer the terminal', () => {
  expect(formatTable(columns, [{ name: STEERING }], { headers: false })).toMatch(/^a *b c d {3}-\n$/);
  expect(formatDetails(columns, { name: STEERING })).toMatch(/^Name: {2}a *b c d\nMore: {2}x\n$/);
});

test('colours of ours are kept and take no room', () => {
  const coloured = { header: 'Name', text: ({ name }: Row) => name, paint: red };
  const shown = formatTable([coloured, ...columns.slice(1)], [{ name: 'x\u001b[2J' }, { name: 'xyz' }]);
  expect(shown).toBe(`NAME   NOTE\n${red('x')}      -\n${red('xyz')}    -\n`);
});

/** Returns a stream that keeps the written text. */
function written(more: { readonly isTTY?: boolean; readonly columns?: number }) {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), more);
  return { stream, take: () => String(stream.read() ?? '') };
}

const LONG = `gpui/trainer: ${'No offers match. '.repeat(12)}`;

test('F6: progress is one line that never wraps, with a spinner, the elapsed time and what it waits for', async () => {
  const clock = createVirtualClock();
  const { stream, take } = written({ isTTY: true, columns: 40 });
  const progress = createProgress({ stderr: stream, env: {} }, clock);
  progress.show(LONG);
  await clock.advance(2_500);
  progress.show('gpui/trainer: loading');
  const frames = take().split('\r\u001b[2K').slice(1);
  expect(frames[0]).toBe('⠋ 0s  gpui/trainer: No offers match. N…');
  expect(Math.max(...frames.map((line) => [...line].length))).toBeLessThan(40);
  expect(new Set(frames.map((line) => line[0])).size).toBe(10);
  expect(frames.at(-1)).toMatch(/^. 2s {2}gpui\/trainer: loading$/);
  progress.clear();
  expect(take()).toBe('\r\u001b[2K');
  await clock.advance(60_000);
  expect(take()).toBe('');
});

test.each([
  ['without a terminal', {}, {}],
  ['on a terminal that knows no escapes', { isTTY: true }, { TERM: 'dumb' }],
])('F6: %s a line each half minute shows that it goes on', async (_, kind, env) => {
  const clock = createVirtualClock();
  const { stream, take } = written(kind);
  const progress = createProgress({ stderr: stream, env }, clock);
  progress.show('gpui/trainer: loading');
  await clock.advance(29_999);
  expect(take()).toBe('');
  await clock.advance(30_001);
  expect(take()).toBe('Waiting for 30s: gpui/trainer: loading\nWaiting for 60s: gpui/trainer: loading\n');
  progress.clear();
  await clock.advance(60_000);
  expect(take()).toBe('');
});

describe('P22: a table on a narrow terminal', () => {
  const wide: readonly Column<{ readonly name: string; readonly message: string }>[] = [
    { header: 'Name', text: ({ name }) => name },
    { header: 'Message', text: ({ message }) => message },
  ];
  const row = {
    name: 'trainer',
    message: 'No offer matches, and none of the 12 that were seen is cheap enough',
  };
  const lines = (options: TableOptions) => formatTable(wide, [row], options).trimEnd().split('\n');

  test('cuts its widest cell, and no other', () => {
    expect(lines({ width: 40 })).toEqual(['NAME      MESSAGE', 'trainer   No offer matches, and none of…']);
  });

  test('shows all of it with -o wide, and where lines may have any length', () => {
    for (const options of [{ width: 40, wide: true }, {}])
      expect(lines(options)[1]).toBe(`trainer   ${row.message}`);
  });

  test('continues the words of the last column of a report below', () => {
    expect(lines({ width: 40, wraps: true })).toEqual([
      'NAME      MESSAGE',
      'trainer   No offer matches, and none of',
      '          the 12 that were seen is cheap',
      '          enough',
    ]);
  });

  test('leaves eight characters of each cell where nothing fits', () => {
    expect(lines({ width: 3 })[1]).toBe('trainer   No offe…');
  });
});
