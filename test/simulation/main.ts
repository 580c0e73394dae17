/** `make simulate`: seeded schedules of the production operator. SEEDS, SEED and MODE come from the environment. */
import { performance } from 'node:perf_hooks';
import { type Mode, runSchedule, type ScheduleResult } from './schedule.ts';
import { shrink } from './shrink.ts';

const MODES: readonly Mode[] = ['sweeperOff', 'all'];

function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return 0;
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) * 10) / 10;
}

const spread = (values: readonly number[]) => ({
  p50: percentile(values, 0.5),
  p99: percentile(values, 0.99),
  max: percentile(values, 1),
});

async function tellStory(seed: number, mode: Mode): Promise<void> {
  const { faults, result } = await shrink({ seed, mode });
  process.stderr.write(`\nSeed ${seed}, ${mode}: ${result.violations.length} violations. `);
  process.stderr.write(
    `Shortest fault list that still breaks: ${JSON.stringify(faults.map(({ index, kind }) => `${index} ${kind}`))}\n`,
  );
  process.stderr.write(`Replay: SEED=${seed} make simulate\n`);
  for (const line of result.trace) process.stderr.write(`${line}\n`);
}

async function main(): Promise<void> {
  const only = process.env['SEED'];
  const first =
    only === undefined ? Number(process.env['FIRST_SEED'] ?? Math.floor(Date.now() / 1000)) : Number(only);
  const count = only === undefined ? Number(process.env['SEEDS'] ?? 100) : 1;
  const wasted: Record<Mode, number[]> = { all: [], sweeperOff: [] };
  const results: ScheduleResult[] = [];
  let violations = 0;
  let hash = '';
  const startedAt = performance.now();
  process.stderr.write(`Seeds ${first} to ${first + count - 1}, each with and without the sweeper\n`);
  for (let seed = first; seed < first + count; seed += 1) {
    for (const mode of MODES) {
      const result = await runSchedule({ seed, mode, keepTrace: false });
      results.push(result);
      wasted[mode].push(...result.wastedSeconds);
      hash = result.traceHash;
      if (result.violations.length === 0) continue;
      violations += result.violations.length;
      await tellStory(seed, mode);
    }
  }
  const minutes = (performance.now() - startedAt) / 60_000;
  const virtualHours = results.reduce((sum, { virtualSeconds }) => sum + virtualSeconds, 0) / 3600;
  const summary = {
    schedules: results.length,
    violations,
    wastedContractSeconds: { sweeperOff: spread(wasted.sweeperOff), all: spread(wasted.all) },
    schedulesPerMinutePerCore: Math.round(results.length / minutes),
    virtualHoursPerMinute: Math.round((virtualHours / minutes) * 10) / 10,
    traceHash: hash,
  };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  process.exitCode = violations > 0 ? 1 : 0;
}

await main();
