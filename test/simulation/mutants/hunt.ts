/**
 * Looks for a violation until one is found or time is up; the last line on stdout says which. Run inside a
 * workspace, so that the production code it imports is the mutated one. Argument: seconds.
 */
import { performance } from 'node:perf_hooks';
import { runSchedule } from '../schedule.ts';
import { runSystematic } from '../systematic.ts';

const limitMs = Number(process.argv[2] ?? 60) * 1000;
const startedAt = performance.now();
const isTimeUp = (): boolean => performance.now() - startedAt > limitMs;

interface Kill {
  readonly by: string;
  readonly invariant: string;
}

/** Systematic plans of one life take turns with seeds: some mutants need a crash, others a climate. */
async function hunt(): Promise<Kill | undefined> {
  for (let seed = 1; !isTimeUp(); seed += 1) {
    for (const mode of ['sweeperOff', 'all'] as const) {
      const { violations } = await runSchedule({ seed, mode, keepTrace: false, untilViolation: true });
      if (violations[0]) return { by: `seed ${seed} ${mode}`, invariant: violations[0].invariant };
      if (isTimeUp()) return undefined;
    }
    if (seed === 3) {
      const kill = await huntByPlans();
      if (kill) return kill;
    }
  }
  return undefined;
}

async function huntByPlans(): Promise<Kill | undefined> {
  let kill: Kill | undefined;
  const until = performance.now() + limitMs / 3;
  try {
    await runSystematic({
      pairs: false,
      goOn: () => kill === undefined && !isTimeUp() && performance.now() < until,
      onPlan: ({ strikes, result }) => {
        const broken = result.violations[0];
        if (broken) kill = { by: `plan ${strikes.map((each) => each.join(' ')).join(' + ')}`, ...broken };
      },
    });
  } catch (error) {
    return { by: 'the unfaulted life', invariant: error instanceof Error ? error.message : String(error) };
  }
  return kill;
}

const killed = await hunt();
const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
process.stdout.write(
  `${JSON.stringify({ killed: killed !== undefined, seconds, by: killed?.by, invariant: killed?.invariant })}\n`,
);
process.exit(0);
