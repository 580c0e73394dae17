import { beforeAll, describe, expect, test } from 'vitest';
import { dayUnder, type Row, rowOf, tableOf } from '../../bench/autoscaling/compare.ts';
import { CONTENDERS, SHOWN_SEED } from '../../bench/autoscaling/contenders.ts';
import { pageWith, pictureOfDay, readPage, readPicture } from '../../bench/autoscaling/page.ts';
import { GRIDS } from '../../bench/autoscaling/tune.ts';
import type { Outcome } from '../../src/views/replay.ts';

describe('docs/concepts/autoscaling.md', () => {
  let outcomes: readonly Outcome[] = [];
  let rows: readonly Row[] = [];

  beforeAll(() => {
    outcomes = CONTENDERS.map((contender) => dayUnder(contender, SHOWN_SEED));
    rows = CONTENDERS.map((contender, index) => {
      const outcome = outcomes[index];
      if (!outcome) throw new Error('every contender has its day');
      return rowOf(contender, outcome);
    });
  }, 120_000);

  test('shows the table that node bench/autoscaling.ts prints; --write renews it', () => {
    const page = readPage();
    expect(page).toContain(tableOf(rows));
    expect(pageWith(tableOf(rows), page)).toBe(page);
  });

  test('shows the picture of the default options; --write renews it, too', () => {
    const [own] = outcomes;
    expect(own && pictureOfDay(own)).toBe(readPicture());
  });

  test('compares days of one load: 24 hours, the same work offered to all', () => {
    expect(new Set(outcomes.map(({ summary }) => summary.offered)).size).toBe(1);
    expect(outcomes.every(({ summary }) => summary.seconds === 86_400)).toBe(true);
  });

  test('compares settings that stand in the grids that were searched', () => {
    const tried = new Set(GRIDS.flat().map(({ name, settings }) => `${name}: ${settings}`));
    const [, ...tuned] = CONTENDERS;
    expect(tuned.filter(({ name, settings }) => !tried.has(`${name}: ${settings}`))).toEqual([]);
  });
});
