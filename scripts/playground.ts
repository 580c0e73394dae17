/**
 * `make playground`: a Kubernetes API, a simulated marketplace, the operator and a first machine, to try things out on.
 * It runs until Ctrl-C, with or without a terminal, or for PLAYGROUND_SECONDS, and takes everything down again. Pods run
 * in it where this machine can be a node.
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lastBuildTook } from '../test/cluster/build-cache.ts';
import { isClusterNamed, isNodePrepared, whyNoNode } from '../test/cluster/cluster.ts';
import { NODE_IMAGES } from '../test/cluster/go-modules.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { endWith, interruption, reasonOf, untilInterrupted } from './demo/ending.ts';
import { plainView, terminalView, type View } from './demo/live-view.ts';
import { shellWord } from './demo/look-around.ts';
import { type Playground, setPlayground } from './demo/playground-stage.ts';
import { type RunningProcess, startGpuRent } from './demo/processes.ts';
import { sampleFile } from './demo/stage.ts';
import { Story } from './demo/story.ts';

const A_WEEK = 7 * 24 * 3600;
const GATEWAY_PATIENCE_MS = 10_000;
/** The machine that is there when the playground is ready. */
const FIRST = 'trainer';

/** PLAYGROUND_SECONDS ends it; PLAYGROUND_NODE says whether Pods run: if they can, unless it is set. */
const { seconds, node: desiredNode } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    seconds: reader.whole('PLAYGROUND_SECONDS', 1, A_WEEK),
    node: reader.oneOf('PLAYGROUND_NODE', ['true', 'false']),
  })),
);

// A reader of the output may stop (`make playground | head`), which must leave no processes behind.
for (const out of [process.stdout, process.stderr]) out.on('error', () => undefined);

const isInteractive = process.stdout.isTTY === true && process.env['CI'] !== 'true';
const view: View = isInteractive
  ? terminalView(process.stdout)
  : plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

const CHAT = `'{"max_tokens":3,"messages":[{"role":"user","content":"hello"}]}'`;

function tellWhatToTry({ sourceLine, whyNoShell }: Playground): void {
  view.heading(`Ready: ${FIRST} runs. In another terminal (fish: the same file with .fish)`);
  view.command(sourceLine);
  view.say('Which GPUs are offered, and for how much:');
  view.command('gpu-rent list gpus');
  view.say('What the operator does with the machine, and what it costs:');
  view.command(`gpu-rent explain gpui/${FIRST}`);
  view.command('gpu-rent cost');
  view.say('Inject a fault: the machine is destroyed without the operator, which rents another:');
  view.command('curl -d \'{"name":"destroyed-elsewhere"}\' $CONTROL/faults');
  view.say(whyNoShell ? 'Rent a second machine:' : 'Rent a second machine, and run a command on it:');
  view.command(`kubectl apply -f ${shellWord(sampleFile('gpu-instance-ssh.yaml'))}`);
  view.command('kubectl wait gpui/workbench --for=condition=Ready --timeout=2m');
  if (whyNoShell === undefined) view.command('gpu-rent ssh gpui/workbench -- uname -a');
  else view.say(`Machines do not answer SSH here: ${whyNoShell}`);
  view.command('kubectl delete gpui workbench');
  view.say('What the marketplace bills, and the metrics of the operator:');
  view.command('curl $CONTROL/ledger');
  view.command('curl -s $METRICS | grep gpu_rental_machines');
}

/** Resolves when the gateway serves, or when it is said why there is none. */
async function tellOfGateway({ gateway }: Playground): Promise<void> {
  const opened = await gateway;
  if (signal.aborted) return;
  if ('missing' in opened) return view.say(`No gateway runs here: ${opened.missing}`);
  view.say('Wake the group "chat", which has no worker: the request waits for its first machine:');
  view.command(`curl -sS --max-time 120 $GATEWAY/default/chat/v1/chat/completions -d ${CHAT}`);
  view.command('gpu-rent top --once');
}

type NodePlan = 'now' | 'build first' | 'none';

async function planNode(): Promise<NodePlan> {
  if (desiredNode !== undefined) return desiredNode === 'true' ? 'now' : 'none';
  if ((await isClusterNamed(process.env)) || (await whyNoNode(process.env)) !== undefined) return 'none';
  return (await isNodePrepared(process.env)) ? 'now' : 'build first';
}

/** Builds what a node needs, for the next playground: this one is usable meanwhile. */
function buildNode(logFolder: string): RunningProcess {
  const entry = join(import.meta.dirname, 'demo', 'build-node.ts');
  const build = startGpuRent({ name: 'node-build', logFolder, entry, args: [] });
  const tell = (line: string): void => {
    if (!signal.aborted) view.say(line);
  };
  view.say(
    `No Pod runs here yet: a node is built for the next playground${lastTime()}; log ${build.logPath}`,
  );
  void build.ready.then(
    () => tell('The node is built: Pods run in the next playground.'),
    (error: Error) => tell(`The node could not be built: ${error.message}`),
  );
  return build;
}

function lastTime(): string {
  const took = lastBuildTook(process.env, NODE_IMAGES);
  return took === undefined ? '' : ` (the last time it took ${took} here)`;
}

/** Shows what happens until Ctrl-C or PLAYGROUND_SECONDS ends it. */
async function stayUp(stage: Playground, story: Story): Promise<string> {
  const elapsed = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1000)];
  const over = AbortSignal.any([signal, ...elapsed]);
  await story.stayUp(over);
  if (!signal.aborted) view.heading(`${seconds} s are over: ending everything`);
  return stage.operatorEnd() ?? 'ok';
}

async function main(): Promise<string> {
  view.heading('Setting up: Kubernetes API, simulated marketplace, operator');
  let stage: Playground | undefined;
  let build: RunningProcess | undefined;
  try {
    const node = await planNode();
    stage = await setPlayground({ tell: view.say, signal, node: node === 'now' });
    const story = new Story(stage, view, signal);
    await story.rentOne(FIRST);
    tellWhatToTry(stage);
    // A first download of Envoy takes longer: its lines come when it is there.
    await Promise.race([tellOfGateway(stage), sleep(GATEWAY_PATIENCE_MS), untilInterrupted(signal)]);
    view.say('More faults, and the clock: docs/how-to/simulator.md. The tour: docs/tutorials/playground.md.');
    if (node === 'build first') build = buildNode(stage.logFolder);
    else view.say(node === 'now' ? 'Pods run here, too.' : 'No Pod runs here: there is no node.');
    view.say(`Logs of the operator and the simulator: ${stage.logFolder}`);
    view.say(seconds === undefined ? 'Ctrl-C ends it.' : `It ends in ${seconds} s, or with Ctrl-C.`);
    return await stayUp(stage, story);
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return result;
  } finally {
    await build?.stop();
    await stage?.dismantle();
  }
}

endWith({ result: await main() });
