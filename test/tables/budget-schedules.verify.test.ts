import { expect, test } from 'vitest';
import { playBudgetSchedule } from '../builders/budget-schedule.ts';
import { readStrictly } from '../settings/reader.ts';

const { SCHEDULES } = readStrictly(process.env, (reader) => ({
  SCHEDULES: reader.whole('BUDGET_SCHEDULES', 1, 100_000_000) ?? 100_000,
}));

test(`no budget is passed in ${SCHEDULES.toLocaleString('en')} random schedules of three accounts (I10)`, {
  timeout: 60_000 + 20 * SCHEDULES,
}, () => {
  const sum = { granted: 0, refused: 0 };
  for (let seed = 1; seed <= SCHEDULES; seed++) {
    const { broken, granted, refused } = playBudgetSchedule(seed);
    if (broken !== undefined) expect.fail(broken);
    sum.granted += granted;
    sum.refused += refused;
  }
  process.stdout.write(`${SCHEDULES} schedules: ${sum.granted} admitted, ${sum.refused} refused\n`);
  expect(sum.granted).toBeGreaterThan(5 * SCHEDULES);
  expect(sum.refused).toBeGreaterThan(SCHEDULES);
});
