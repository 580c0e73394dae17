/** `make demo`: the whole job on a real Kubernetes API with a simulated marketplace. */
import { formatDollars } from '../src/lib/money.ts';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { plainView, terminalView, type View } from './demo/live-view.ts';
import { lookAround } from './demo/look-around.ts';
import { readLedger } from './demo/simulator-control.ts';
import { DEMO_DURATIONS, type Stage, setStage } from './demo/stage.ts';
import { type Outcome, Story } from './demo/story.ts';

const isInteractive = process.stdout.isTTY === true && process.env['CI'] !== 'true';
const view: View = isInteractive
  ? terminalView(process.stdout)
  : plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

const FAILED: Outcome = {
  result: '',
  rented: 0,
  replaced: 0,
  destroyed: 0,
  billing: 0,
  operatorDollars: '0.00',
  ledgerDollars: '0.00',
  secondsToFirstRunning: null,
};

function tellHowToLook({ cluster, logFolder }: Stage): void {
  view.say(`Durations: ${Object.entries(DEMO_DURATIONS).flat().join(' ')}`);
  view.say('Look around from another terminal:');
  for (const command of [
    ...lookAround(cluster),
    'kubectl get gpurental -A',
    'kubectl get events.events.k8s.io',
    'kubectl describe gpui trainer',
    'gpu-rent explain gpui/trainer',
  ]) {
    view.command(command);
  }
  view.say(`Logs of the operator and the simulator: ${logFolder}`);
}

function tellSearch({ msg, name, offers, fromDollarsPerHour }: Readonly<Record<string, unknown>>): void {
  if (msg !== 'Offers searched') return;
  const price = fromDollarsPerHour === undefined ? '' : `, from $${String(fromDollarsPerHour)}/h on`;
  view.say(`${String(name)}: offers are searched; ${String(offers)} match${price}.`);
}

async function tell(story: Story): Promise<Outcome> {
  await story.rent();
  await story.replace();
  await story.tearDown();
  const outcome = await story.settle();
  view.say(`Rented ${outcome.rented}, replaced ${outcome.replaced}, destroyed ${outcome.destroyed}.`);
  view.say(`Cost by the operator $${outcome.operatorDollars}, by the simulator $${outcome.ledgerDollars}.`);
  if (isInteractive) {
    view.heading('All of it stays up for you to try: apply a sample in another terminal. Ctrl-C ends it');
    await story.stayUp();
    return await sumUp(story, outcome);
  }
  return outcome;
}

async function sumUp(story: Story, settled: Outcome): Promise<Outcome> {
  const outcome = await story.settleAgain(settled);
  const { billing } = outcome;
  if (billing > 0)
    view.say(`${billing} of your machines still bill; they end with the simulated marketplace.`);
  return outcome;
}

async function failureOf(stage: Stage | undefined, result: string): Promise<Outcome> {
  const ledger = stage && (await readLedger(stage.controlUrl).catch(() => undefined));
  if (!ledger) return { ...FAILED, result };
  const ended = ledger.contracts.filter((contract) => contract.end !== null).length;
  return {
    ...FAILED,
    result,
    rented: ledger.contracts.length,
    destroyed: ended,
    billing: ledger.billing,
    ledgerDollars: formatDollars(Math.round(ledger.dollars * 1_000_000)),
  };
}

async function main(): Promise<Outcome> {
  view.heading('Setting up: Kubernetes API, simulated marketplace, operator');
  let stage: Stage | undefined;
  try {
    stage = await setStage({ tell: view.say, signal, onLog: tellSearch });
    tellHowToLook(stage);
    return await tell(new Story(stage, view, signal));
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return await failureOf(stage, result);
  } finally {
    await stage?.dismantle();
  }
}

endWith(await main());
