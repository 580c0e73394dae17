import { expect, test } from 'vitest';
import { row } from '../../test/builders/observed.ts';
import { Absences } from './inventory.ts';

const SECOND = 1_000;

/** Lists that take a second each, by when they begin and what they show; then one more that differs. */
function seen(...lists: readonly (readonly [begunAt: number, ...ids: readonly string[]])[]): Absences {
  const absences = new Absences();
  for (const [begunAt, ...ids] of lists) see(absences, { at: begunAt, ids });
  return absences;
}

interface Seen {
  /** When it begins, in steady time. */
  readonly at: number;
  readonly ids?: readonly string[];
  readonly asked?: readonly string[];
  /** Offset of the wall clock from the steady one, and its jump during the list. */
  readonly ahead?: number;
  readonly jumps?: number;
}

function see(absences: Absences, { at, ids = [], asked = ['5', '6'], ahead = 0, jumps = 0 }: Seen): void {
  const rows = new Map(ids.map((id) => [id, row({ id })]));
  const begunAt = at + ahead;
  absences.update({ begunAt, endedAt: begunAt + SECOND + jumps, rows }, asked, at + SECOND);
}

const gone = (absences: Absences, ms: number) => [...absences.longerThan(ms)];

test('one list without a machine proves nothing, however long it took', () => {
  expect(gone(seen([0, '6']), 0)).toEqual([]);
});

test('lists without a machine count from the end of the first to the beginning of the latest', () => {
  expect(gone(seen([0, '6'], [60_000, '6'], [61_000, '6']), 60_000)).toEqual([]);
  expect(gone(seen([0, '6'], [60_000, '6'], [61_001, '6']), 60_000)).toEqual(['5']);
});

test('starts the absence again when a list shows the machine in between', () => {
  expect(gone(seen([0, '6'], [60_000, '5', '6'], [120_000, '6']), 60_000)).toEqual([]);
});

test('starts the absence again when a read shows the machine', () => {
  const absences = seen([0], [100_000]);
  absences.forget('5');
  expect(gone(absences, 60_000)).toEqual(['6']);
  see(absences, { at: 110_000 });
  expect(gone(absences, 60_000)).toEqual(['6']);
});

test('forgets a machine that is no longer followed', () => {
  const absences = seen([0], [100_000]);
  see(absences, { at: 200_000, asked: ['6'] });
  see(absences, { at: 300_000 });
  expect(gone(absences, 60_000)).toEqual(['6']);
});

test('before the first list nothing is missing', () => {
  expect(gone(new Absences(), 0)).toEqual([]);
});

test('a wall clock that is set ahead between two lists makes no machine missing for longer', () => {
  const absences = seen([0]);
  see(absences, { at: 10_000, ahead: 3_600_000 });
  expect(gone(absences, 9_000)).toEqual([]);
  see(absences, { at: 61_001, ahead: 3_600_000 });
  expect(gone(absences, 60_000)).toEqual(['5', '6']);
});

test.each([-2_000, 700_000])('a list during which the wall clock jumps by %d ms ends no wait', (jumps) => {
  const absences = seen([0]);
  see(absences, { at: 100_000, jumps });
  expect(gone(absences, 0)).toEqual([]);
  see(absences, { at: 110_000 });
  expect(gone(absences, 60_000)).toEqual(['5', '6']);
});
