/**
 * `make playground`: a Kubernetes API, a simulated marketplace, the operator and a first machine, to try things out on.
 * It runs until Ctrl-C, with or without a terminal, or for PLAYGROUND_SECONDS, and takes everything down again. Pods run
 * in it where this machine can be a node.
 */

import { isClusterNamed, whyNoNode } from '../test/cluster/cluster.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { plainView, terminalView, type View } from './demo/live-view.ts';
import { lookAround, shellWord } from './demo/look-around.ts';
import { applySample, type Stage, sampleFile, setStage } from './demo/stage.ts';
import { Story } from './demo/story.ts';

const A_WEEK = 7 * 24 * 3600;
/** The machine that is there when the playground is ready. */
const FIRST = 'trainer';

/** PLAYGROUND_SECONDS ends it; PLAYGROUND_NODE says whether Pods run: if they can, unless it is set. */
const { seconds, node: desiredNode } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    seconds: reader.whole('PLAYGROUND_SECONDS', 1, A_WEEK),
    node: reader.oneOf('PLAYGROUND_NODE', ['true', 'false']),
  })),
);

// Whoever read the output may be gone (`make playground | head`): that is no reason to leave processes behind.
for (const out of [process.stdout, process.stderr]) out.on('error', () => undefined);

const isInteractive = process.stdout.isTTY === true && process.env['CI'] !== 'true';
const view: View = isInteractive
  ? terminalView(process.stdout)
  : plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

function tellWhatToTry({ cluster, controlUrl, marketplace, logFolder }: Stage, node: boolean): void {
  const { url, apiKey } = marketplace;
  view.heading(`Ready: ${FIRST} runs. In another terminal`);
  const variables = { GPU_RENT_URL: url, GPU_RENT_API_KEY: apiKey, CONTROL: controlUrl };
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${value}`);
  for (const command of [...lookAround(cluster), ...exports]) view.command(command);
  view.say('Which GPUs are offered, and for how much:');
  view.command('gpu-rent list gpus');
  view.say('Ask what the operator does with the machine, and what it costs:');
  view.command(`gpu-rent explain gpui/${FIRST}`);
  view.command('gpu-rent cost');
  view.say('Inject a fault: the machine is destroyed without the operator, which rents another:');
  view.command('curl -d \'{"name":"destroyed-elsewhere"}\' $CONTROL/faults');
  view.say('Rent a second machine, then delete it:');
  view.command(`kubectl apply -f ${shellWord(sampleFile('gpu-instance-notebook.yaml'))}`);
  view.command('kubectl wait gpui/notebook --for=condition=Ready --timeout=2m');
  view.command('kubectl delete gpui notebook');
  view.say('What the marketplace bills:');
  view.command('curl $CONTROL/ledger');
  view.say('More faults, and the clock: docs/how-to/simulator.md. The tour: docs/tutorials/playground.md.');
  view.say(node ? 'Pods run here, too.' : 'No Pod runs here: there is no node.');
  view.say(`Logs of the operator and the simulator: ${logFolder}`);
  view.say(seconds === undefined ? 'Ctrl-C ends it.' : `It ends in ${seconds} s, or with Ctrl-C.`);
}

async function hasNode(): Promise<boolean> {
  if (desiredNode !== undefined) return desiredNode === 'true';
  return !(await isClusterNamed(process.env)) && (await whyNoNode(process.env)) === undefined;
}

/** Shows what happens until Ctrl-C or PLAYGROUND_SECONDS ends it. */
async function stayUp(stage: Stage, story: Story): Promise<string> {
  const elapsed = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1000)];
  const over = AbortSignal.any([signal, ...elapsed]);
  await story.stayUp(over);
  if (!signal.aborted) view.heading(`${seconds} s are over: ending everything`);
  return stage.operatorEnd() ?? 'ok';
}

async function main(): Promise<string> {
  view.heading('Setting up: Kubernetes API, simulated marketplace, operator');
  let stage: Stage | undefined;
  try {
    const node = await hasNode();
    stage = await setStage({ tell: view.say, signal, node });
    await applySample(stage.cluster, 'account.yaml', { pollInterval: '1s' });
    const story = new Story(stage, view, signal);
    await story.rentOne(FIRST);
    tellWhatToTry(stage, node);
    return await stayUp(stage, story);
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return result;
  } finally {
    await stage?.dismantle();
  }
}

endWith({ result: await main() });
