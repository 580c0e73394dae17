/**
 * `make demo-gateway`: a gateway in front of an EndpointGroup at zero, on a real Kubernetes API. A burst of requests waits
 * while a simulated machine boots, and all are served. DEMO_REQUESTS and DEMO_BOOT_SECONDS make it smaller.
 */
import { findFreePort } from '../test/cluster/free-port.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { envoyBinary } from '../test/tools/envoy.ts';
import { endWith, interruption, reasonOf, untilInterrupted } from './demo/ending.ts';
import { type GatewayOutcome, GatewayStory, SPEED } from './demo/gateway-story.ts';
import { plainView, terminalView, type View } from './demo/live-view.ts';
import { lookAround } from './demo/look-around.ts';
import { nginxBinary } from './demo/nginx.ts';
import { openChatSimulator } from './demo/simulator.ts';
import { DEMO_DURATIONS, type Stage, setStage } from './demo/stage.ts';

const { requests, bootSeconds } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    requests: reader.whole('DEMO_REQUESTS', 1, 5_000) ?? 500,
    bootSeconds: reader.whole('DEMO_BOOT_SECONDS', 1, 600) ?? 40,
  })),
);

const isInteractive = process.stdout.isTTY === true && process.env['CI'] !== 'true';
const view: View = isInteractive
  ? terminalView(process.stdout)
  : plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

const NOTHING: GatewayOutcome = {
  ...{ result: '', requests, ok: 0, failed: requests, wakes: 0 },
  ...{ firstByteAfterReadyMs: null, cutStreams: 0, billing: 0 },
};

/** When the operator made the first worker, by the time of its log; milliseconds since the epoch. */
let decidedAt: number | undefined;

function noteDecision({ msg, time }: Readonly<Record<string, unknown>>): void {
  if (msg === 'workers changed') decidedAt ??= Date.parse(String(time));
}

function tellHowToLook({ cluster, logFolder }: Stage): void {
  const flags = [...Object.entries(DEMO_DURATIONS).flat(), '--scaling-speed', String(SPEED)];
  view.say(`Durations: ${flags.join(' ')}; machines boot in real time.`);
  view.say('Look around from another terminal:');
  for (const command of [
    ...lookAround(cluster),
    'kubectl get epg,gpui,endpointslices',
    'kubectl describe epg chat',
    'gpu-rent explain epg/chat',
  ]) {
    view.command(command);
  }
  view.say(`Logs of the operator and of the gateway: ${logFolder}`);
}

async function tell(story: GatewayStory): Promise<void> {
  await story.begin();
  await story.burst();
  await story.scaleDown();
  await story.compare();
  await story.tearDown();
}

async function main(): Promise<GatewayOutcome> {
  view.heading('Setting up: Envoy, Kubernetes API, simulated marketplace with TLS workers, operator');
  const nginx = nginxBinary(signal);
  let stage: Stage | undefined;
  let story: GatewayStory | undefined;
  try {
    const envoy = await Promise.race([envoyBinary(), untilInterrupted(signal)]);
    const ports = { gateway: await findFreePort(), reports: await findFreePort() };
    stage = await setStage({
      tell: view.say,
      signal,
      onLog: noteDecision,
      openMarketplace: (logFolder) => openChatSimulator(logFolder, bootSeconds),
      operatorFlags: [
        ...['--scaling-speed', String(SPEED), '--metrics-bind-address', `127.0.0.1:${ports.reports}`],
        ...['--gateway-reports', 'unauthenticated', '--gateway-url', `http://127.0.0.1:${ports.gateway}`],
      ],
    });
    tellHowToLook(stage);
    story = new GatewayStory(stage, {
      ...{ view, signal, requests, bootSeconds, envoy, nginx, ports },
      decidedAt: () => decidedAt,
    });
    await tell(story);
    return await story.outcome();
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return { ...((await story?.outcome().catch(() => undefined)) ?? NOTHING), result };
  } finally {
    await story?.close();
    await stage?.dismantle();
  }
}

endWith(await main());
