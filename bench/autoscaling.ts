/**
 * Two figures about scaling. How much CPU one tick of the pure core takes for 200 groups of 20 workers (goal: 50 ms),
 * and how one seeded day of 24 hours goes under our rules beside three reference policies. Prints the table of
 * docs/concepts/autoscaling.md and, as its last line, everything as JSON.
 *
 * `node bench/autoscaling.ts [--seed 7] [--write] [--tune]`: another day; write table and picture into docs; first
 * search again for the best settings of each policy (minutes), and fail where others are recorded.
 */
import { parseArgs } from 'node:util';
import { dayUnder, rowOf, tableOf } from './autoscaling/compare.ts';
import { CONTENDERS, SHOWN_SEED } from './autoscaling/contenders.ts';
import { pictureOfDay, writePage } from './autoscaling/page.ts';
import { SITUATIONS, tickCost } from './autoscaling/tick.ts';
import { best, GRIDS } from './autoscaling/tune.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string' }, write: { type: 'boolean' }, tune: { type: 'boolean' } },
});
const seed = Number(values.seed ?? SHOWN_SEED);
if (!Number.isSafeInteger(seed)) throw new RangeError(`--seed ${values.seed} is no whole number`);

if (values.tune) tuneAgain();
const tick = SITUATIONS.map(tickCost);
const begun = performance.now();
const days = CONTENDERS.map((contender) => ({ contender, outcome: dayUnder(contender, seed) }));
const seconds = Math.round((performance.now() - begun) / 10) / 100;
const rows = days.map(({ contender, outcome }) => rowOf(contender, outcome));
const [own] = days;
if (values.write && own) writePage(tableOf(rows), pictureOfDay(own.outcome));
process.stdout.write(`${tableOf(rows)}\n`);
process.stdout.write(
  `${JSON.stringify({ tick, day: { seed, virtualHours: 24, seconds, policies: rows } })}\n`,
);

function tuneAgain(): void {
  const recorded = new Set(CONTENDERS.map(({ name, settings }) => `${name}: ${settings}`));
  for (const grid of GRIDS) {
    const found = best(grid);
    if (!found) continue;
    const { contender, rejectedPercent, meanQueueSeconds, dollars } = found;
    const told = `${contender.name}: ${contender.settings}`;
    const isRecorded = recorded.has(told);
    process.stderr.write(
      `${told} (${rejectedPercent.toFixed(3)} % rejected, ${meanQueueSeconds.toFixed(2)} s mean queue, $${dollars.toFixed(2)} on the tuning days)${isRecorded ? '' : ' is not what is recorded'}\n`,
    );
    if (!isRecorded) process.exitCode = 1;
  }
}
