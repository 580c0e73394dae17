import { expect, test } from 'vitest';
import { formatDetails, formatTable } from './output.ts';

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
