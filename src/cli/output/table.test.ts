import { expect, test } from 'vitest';
import { formatTable } from './table.ts';

const columns = [
  { header: 'Name', text: ({ name }: Row) => name },
  { header: 'Note', text: ({ note }: Row) => note },
  { header: 'More', text: () => 'x', wide: true },
];

interface Row {
  readonly name: string;
  readonly note?: string;
}

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
