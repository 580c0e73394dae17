import { expect, test } from 'vitest';
import { row } from '../../../test/builders/observed.ts';
import { Absences } from './absences.ts';

/** Lists that take a second each, by when they begin and what they show. */
function seen(...lists: readonly (readonly [begunAt: number, ...ids: readonly number[]])[]): Absences {
  const absences = new Absences();
  for (const [begunAt, ...ids] of lists) {
    const rows = new Map(ids.map((id) => [id, row({ id })]));
    absences.see({ begunAt, endedAt: begunAt + 1_000, rows }, [5, 6]);
  }
  return absences;
}

const gone = (absences: Absences, ms: number) => [...absences.longerThan(ms)];

test('one list without a machine proves nothing, however long it took', () => {
  expect(gone(seen([0, 6]), 0)).toEqual([]);
});

test('lists without a machine count from the end of the first to the beginning of the latest', () => {
  expect(gone(seen([0, 6], [60_000, 6], [61_000, 6]), 60_000)).toEqual([]);
  expect(gone(seen([0, 6], [60_000, 6], [61_001, 6]), 60_000)).toEqual([5]);
});

test('a machine that is listed in between is missing anew', () => {
  expect(gone(seen([0, 6], [60_000, 5, 6], [120_000, 6]), 60_000)).toEqual([]);
});

test('a machine that nobody asks for any more is forgotten', () => {
  const absences = seen([0], [100_000]);
  absences.see({ begunAt: 200_000, endedAt: 201_000, rows: new Map() }, [6]);
  absences.see({ begunAt: 300_000, endedAt: 301_000, rows: new Map() }, [5, 6]);
  expect(gone(absences, 60_000)).toEqual([6]);
});

test('before the first list nothing is missing', () => {
  expect(gone(new Absences(), 0)).toEqual([]);
});
