/** `make demo-endpoint`: an EndpointGroup on a real Kubernetes API, with simulated workers under a changing load. */
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { type GroupOutcome, GroupStory, MAX_QUEUE_SECONDS, SPEED } from './demo/group-story.ts';
import { type GroupView, plainGroupView, terminalGroupView } from './demo/group-view.ts';
import { lookAround } from './demo/look-around.ts';
import { DEMO_DURATIONS, type Stage, setStage } from './demo/stage.ts';
import { workerMarket } from './demo/worker-market.ts';

const isInteractive = process.stdout.isTTY === true && process.env['CI'] !== 'true';
const view: GroupView = isInteractive
  ? terminalGroupView(process.stdout)
  : plainGroupView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

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
  for (const command of [
    ...lookAround(cluster),
    'kubectl get epg,gpui,endpointslices',
    'kubectl describe epg translator',
    'gpu-rent explain epg/translator',
  ]) {
    view.command(command);
  }
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
    stage = await setStage({
      tell: view.say,
      signal,
      openMarketplace: () => market.open(),
      operatorFlags: ['--scaling-speed', String(SPEED)],
    });
    tellHowToLook(stage);
    story = new GroupStory(stage, market, { view, signal });
    await tell(story);
    return story.outcome();
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return { ...(story?.outcome() ?? NOTHING), result };
  } finally {
    await stage?.dismantle();
  }
}

endWith(await main());
