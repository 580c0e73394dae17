/** `make demo-endpoint`: an EndpointGroup on a real Kubernetes API, with simulated workers under a changing load. */
import { type GroupOutcome, GroupStory, MAX_QUEUE_SECONDS, SPEED } from './demo/group-story.ts';
import { type GroupView, plainGroupView, terminalGroupView } from './demo/group-view.ts';
import { DEMO_DURATIONS, type Stage, setStage } from './demo/stage.ts';
import { workerMarket } from './demo/worker-market.ts';

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)));
}

const isInteractive = process.stdout.isTTY === true && process.env['CI'] !== 'true';
const view: GroupView = isInteractive ? terminalGroupView(process.stdout) : plainGroupView(process.stdout);

const NOTHING: GroupOutcome = {
  result: '',
  peakHot: 0,
  peakTotal: 0,
  zeroReached: false,
  wokeSeconds: null,
  rejected: 0,
  dollars: '0.00',
  billing: 0,
};

function tellHowToLook({ cluster, logFolder }: Stage): void {
  const flags = [...Object.entries(DEMO_DURATIONS).flat(), '--scaling-speed', String(SPEED)];
  view.say(`Durations: ${flags.join(' ')}`);
  view.say('Look around from another terminal:');
  view.say(`  export KUBECONFIG=${cluster.kubeconfigPath}`);
  view.say(`  ${cluster.kubectlPath} get epg,gpui,endpointslices`);
  view.say(`  ${cluster.kubectlPath} describe epg translator`);
  view.say(`Logs of the operator: ${logFolder}`);
}

async function tell(story: GroupStory): Promise<void> {
  await story.begin();
  await story.load();
  await story.end();
  await story.wakeAgain();
  await story.tearDown();
}

async function main(): Promise<GroupOutcome> {
  view.heading('Setting up: Kubernetes API, simulated marketplace with workers, operator');
  const market = workerMarket(MAX_QUEUE_SECONDS);
  let stage: Stage | undefined;
  let story: GroupStory | undefined;
  try {
    stage = await setStage(view.say, {
      openMarketplace: () => market.open(),
      operatorFlags: ['--scaling-speed', String(SPEED)],
    });
    tellHowToLook(stage);
    story = new GroupStory(stage, market, { view, signal: interrupted.signal });
    await tell(story);
    return story.outcome();
  } catch (error) {
    const result = error instanceof Error ? error.message : String(error);
    return { ...(story?.outcome() ?? NOTHING), result };
  } finally {
    await stage?.dismantle();
  }
}

const outcome = await main();
process.exitCode = outcome.result === 'ok' ? 0 : 1;
process.stdout.write(`${JSON.stringify(outcome)}\n`);
