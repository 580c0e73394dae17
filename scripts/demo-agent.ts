/**
 * `make demo-agent`: a hostile caller of `gpu-rent mcp` with a kubeconfig for one namespace and a SpendBudget. It sends
 * 10,000 seeded calls in parallel, breaks the rules of the tools, and kills the servers between calls. The operator and
 * the simulated marketplace run on a fast clock, so that the budget is reached. DEMO_CALLS makes it smaller, DEMO_SEED
 * draws other calls.
 */
import { join } from 'node:path';
import { createSimulator } from '../src/simulator/simulator.ts';
import { MAX_HOSTILE_COST } from '../test/agent/hostile-calls.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { type AgentOutcome, AgentStory, BUDGET, offersOf, SPEED } from './demo/agent-story.ts';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { fastClock, fastTime } from './demo/fast-time.ts';
import { plainView } from './demo/live-view.ts';
import { applySample, type Stage, setStage } from './demo/stage.ts';

const { calls, seed } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    calls: reader.whole('DEMO_CALLS', 100, 1_000_000) ?? 10_000,
    seed: reader.seed('DEMO_SEED') ?? 1,
  })),
);
/** Fewer calls end before the budget is reached. */
const MIN_CALLS_TO_JUDGE = 5_000;
const BOOT_SCALE = 0.1;
const FAST_OPERATOR = join(import.meta.dirname, 'demo', 'fast-operator.ts');

const view = plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

interface Outcome extends AgentOutcome {
  /** Absent after a success. */
  readonly result?: string;
}

const NOTHING: AgentOutcome = {
  ...{ calls: 0, dollars: '0.00', budget: String(BUDGET), foreignEnded: 0, unreadableRefusals: 0 },
};

/** Returns why the outcome is no success; undefined for a success. */
function problemOf(outcome: AgentOutcome, reasons: Readonly<Record<string, number>>): string | undefined {
  const { foreignEnded, unreadableRefusals } = outcome;
  const dollars = Number(outcome.dollars);
  if (outcome.calls !== calls) return `${outcome.calls} calls of ${calls} were sent`;
  if (foreignEnded > 0) return `${foreignEnded} objects of others were ended or changed`;
  if (unreadableRefusals > 0) return `${unreadableRefusals} answers break the contract`;
  if (dollars > BUDGET + MAX_HOSTILE_COST) return 'the budget was exceeded by more than one rental';
  const isReached = (reasons['BudgetReached'] ?? 0) > 0 && dollars > BUDGET / 2;
  return isReached || calls < MIN_CALLS_TO_JUDGE
    ? undefined
    : 'the budget was not reached, so nothing is proven';
}

async function main(): Promise<Outcome> {
  view.heading('Setting up: Kubernetes API, simulated marketplace, operator');
  const time = fastTime(Date.now(), SPEED);
  const simulator = createSimulator({
    ...{ seed, clock: fastClock(time), catalog: offersOf() },
    settings: { boot: { scale: BOOT_SCALE }, pauses: { scale: 0 } },
  });
  let stage: Stage | undefined;
  let story: AgentStory | undefined;
  try {
    stage = await setStage({
      ...{ tell: view.say, signal, own: true },
      async openMarketplace() {
        const { url, close } = await simulator.listen();
        return { url, apiKey: simulator.apiKey, controlUrl: '', stop: close };
      },
      operatorFlags: ['--leader-elect=false'],
      operatorProcess: () => ({ preload: FAST_OPERATOR, env: { DEMO_FAST_TIME: JSON.stringify(time) } }),
    });
    await applySample(stage.cluster, 'account.yaml', { pollInterval: '20s' });
    view.say(`Clock of operator and marketplace: ${SPEED} times as fast. Logs: ${stage.logFolder}`);
    story = new AgentStory({ stage, world: simulator.world, calls, seed, say: view.say, signal });
    view.heading(`${calls} calls of a hostile caller (seed ${seed})`);
    const outcome = await story.play();
    const result = problemOf(outcome, story.result?.reasons ?? {});
    return result === undefined ? outcome : { ...outcome, result };
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return { ...((await story?.outcome().catch(() => undefined)) ?? NOTHING), result };
  } finally {
    await stage?.dismantle();
  }
}

endWith(await main());
