/**
 * The gateway as processes: the picker as the bundle that ships, a real Envoy, workers that answer at once and a load
 * generator, each on its own, all on the cores of this machine. First by itself, against its targets; then beside the
 * endpoint picker of the Kubernetes project and a router from PyPI, on the same trace and workers.
 *
 * `npm run bench:gateway -- [--trace] [--rounds 5] [--seconds 4] [--held 4000] [--no-peers] [--profile FOLDER]`
 *
 * Prints tables, writes bench/results/gateway.json, and exits with 0 whatever they say; not with 0 where it could not
 * measure. `--trace` replays ten minutes of bursts instead: see bench/gateway/trace.ts.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import { VERSION as ENVOY_VERSION } from '../test/tools/envoy.ts';
import { startBackends } from './gateway/backends.ts';
import { aloneConfig, startEnvoy } from './gateway/envoys.ts';
import { type GatewayKube, openGatewayKube } from './gateway/gateway-kube.ts';
import { startLoadGenerator } from './gateway/generator.ts';
import { machine } from './gateway/machine.ts';
import {
  addedLatency,
  busy,
  busyStreams,
  FEW,
  GROUPS,
  held,
  idle,
  type Scene,
  type UploadFigures,
  uploads,
} from './gateway/own-figures.ts';
import { startOwnGateway } from './gateway/own-gateway.ts';
import {
  contender,
  EPP,
  type Match,
  ROUTER,
  serveByEnvoy,
  serveByEpp,
  serveByOwn,
  serveByRouter,
} from './gateway/peers.ts';
import { interleaved, type Outcome } from './gateway/rounds.ts';
import { comparisonOf, type OwnFigures, rowsOf, tableOf } from './gateway/table.ts';
import { replayTrace, traceRows } from './gateway/trace.ts';
import { burstyTrace } from './gateway/trace-load.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    held: { type: 'string', default: '4000' },
    trace: { type: 'boolean', default: false },
    'trace-seconds': { type: 'string', default: '600' },
    'trace-requests': { type: 'string', default: '10000' },
    'no-peers': { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
});
const RESULTS = join(import.meta.dirname, 'results');
const WORKERS = 100;
const UPLOADS = 1000;
const AT_A_TIME = 64;
const PEER_AT_A_TIME = 4;
const TRACE_SECONDS = 20;
const TRACE_REQUESTS = 4_000;

const begun = performance.now();
const report = (line: string): void =>
  void process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0)} s: ${line}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    report(`ended by ${signal}`);
    process.exit(1);
  });

function whole(name: 'rounds' | 'seconds' | 'held' | 'trace-seconds' | 'trace-requests'): number {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value > 0) return value;
  report(`--${name} ${values[name]} is no whole number above 0`);
  return process.exit(2);
}

async function ownFigures(folder: string): Promise<OwnFigures> {
  const closing: (() => unknown)[] = [];
  try {
    const backends = await startBackends(WORKERS, AT_A_TIME);
    closing.push(() => backends.stop());
    const load = await startLoadGenerator();
    closing.push(() => load.stop());
    const kube = await openGatewayKube(folder);
    closing.push(() => kube.close());
    await kube.createGroup(GROUPS.few);
    await kube.publish(GROUPS.few, backends.all.slice(0, FEW));
    await kube.createGroup(GROUPS.many);
    await kube.publish(GROUPS.many, backends.all);
    const gateway = await startOwnGateway({ kube, folder, profile: values.profile });
    closing.push(() => gateway.stop());
    const alone = await startEnvoy('envoy-alone', folder, (port) =>
      aloneConfig(port, backends.all.slice(0, FEW)),
    );
    closing.push(() => alone.stop());
    const scene: Scene = {
      ...{ kube, backends, gateway, alone, load, report },
      ...{ rounds: whole('rounds'), seconds: whole('seconds') },
    };
    return {
      ...(await figuresOf(scene)),
      uploads: await uploadFigures(kube, folder, false),
      endless: await uploadFigures(kube, folder, true),
    };
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

/** Measures uploads in a separate gateway, whose memory nothing else has increased. */
async function uploadFigures(kube: GatewayKube, folder: string, endless: boolean): Promise<UploadFigures> {
  report(endless ? 'uploads that never end' : 'uploads that wait');
  const gateway = await startOwnGateway({ kube, folder });
  try {
    return await uploads({ kube, gateway }, { requests: UPLOADS, endless });
  } finally {
    await gateway.stop();
  }
}

async function figuresOf(scene: Scene): Promise<Omit<OwnFigures, 'uploads' | 'endless'>> {
  report('at rest');
  const atRest = await idle(scene);
  report('latency at one connection');
  const latency = await addedLatency(scene);
  report('as many picks as there can be, 8 workers');
  const few = await busy(scene, GROUPS.few);
  report('the same with 100 workers');
  const many = await busy(scene, GROUPS.many);
  report('streams');
  const streams = await busyStreams(scene);
  report('requests that wait');
  const waiting = await held(scene, whole('held'));
  return { few, many, streams, latency, idle: atRest, held: waiting };
}

/** Compares routers with the same trace, on workers with low concurrency, so that a good choice shortens the wait. */
async function compare(folder: string): Promise<readonly Outcome[]> {
  const closing: (() => unknown)[] = [];
  try {
    const backends = await startBackends(FEW, PEER_AT_A_TIME);
    closing.push(() => backends.stop());
    const load = await startLoadGenerator();
    closing.push(() => load.stop());
    const trace = burstyTrace({
      seed: 7,
      requests: TRACE_REQUESTS,
      seconds: TRACE_SECONDS,
      tokens: [5, 100],
    });
    const match: Match = { backends, load, folder, trace, seconds: whole('seconds'), report };
    return await interleaved(
      [
        contender('gpu-rent endpoint-picker', match, () => serveByOwn(match)),
        contender(`${EPP.main.slice('cmd/'.length)} ${EPP.version}`, match, () => serveByEpp(match)),
        contender(`${ROUTER.name} ${ROUTER.version}`, match, () => serveByRouter(match)),
        contender('Envoy alone', match, () => serveByEnvoy(match)),
      ],
      whole('rounds'),
      report,
    );
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

function write(name: string, result: Readonly<Record<string, unknown>>): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, name), `${JSON.stringify(result, undefined, 2)}\n`);
}

async function main(folder: string): Promise<void> {
  const about = { date: new Date().toISOString(), envoy: ENVOY_VERSION, before: machine() };
  if (values.trace) {
    const seconds = whole('trace-seconds');
    const trace = await replayTrace({ folder, seconds, requests: whole('trace-requests'), report });
    const rows = traceRows(trace);
    for (const { line, met } of rows) process.stdout.write(`${met ? 'met    ' : 'NOT MET'} ${line}\n`);
    write('gateway-trace.json', { ...about, after: machine(), rows, trace });
    return;
  }
  const own = await ownFigures(folder);
  const rows = rowsOf(own);
  process.stdout.write(`${tableOf(rows)}\n`);
  write('gateway.json', { ...about, after: machine(), rows, own });
  if (values['no-peers']) return;
  const peers = await compare(folder);
  process.stdout.write(`\n${comparisonOf(peers)}\n`);
  write('gateway.json', { ...about, after: machine(), rows, own, peers });
}

const folder = mkdtempSync(join(tmpdir(), 'bench-gateway-'));
try {
  await main(folder);
} catch (error) {
  report(`could not measure: ${inspect(error)}`);
  process.exitCode = 1;
} finally {
  if (process.exitCode) report(`what the processes said is in ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
}
process.exit();
