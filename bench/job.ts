/**
 * `make bench-job`: what relays (`gpu-rent job`) cost the cluster, and what followers of logs cost the operator. RELAYS
 * (default 100) relays run as the bundle that ships, each a process as in a Pod with the environment of the image; the
 * API server is one in memory, over TLS. Processor time and memory come from /proc. The log server runs in a process of
 * its own. Writes bench/results/job.json and prints it; exits with 1 if a relay needs more memory than the samples in
 * examples/jobs request.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { parse } from 'yaml';
import { NODE_FLAGS } from '../scripts/image/root-files.ts';
import { issueIdentity } from '../src/cli/commands/simulator-certificate.ts';
import { systemClock } from '../src/lib/clock.ts';
import { seededRandom } from '../src/lib/random.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { createMemoryKube } from '../test/simulation/memory-kube/memory-kube.ts';
import { machine } from './gateway/machine.ts';
import { cpuMs, peakMiB, residentMiB } from './gateway/process-cost.ts';
import { sendWhole, serveKube } from './memory/serve-kube.ts';
import { imageEnvironment } from './operator/image-environment.ts';

const { relays: RELAYS, seconds: SECONDS } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    relays: reader.whole('RELAYS', 1, 1_000) ?? 100,
    seconds: reader.whole('SECONDS', 5, 3_600) ?? 60,
  })),
);
const REPOSITORY = join(import.meta.dirname, '..');
const BUNDLE = join(REPOSITORY, 'dist', 'gpu-rent.mjs');
const NAMESPACE = 'team';
/** Flags of the image, without the module that only holds signals. */
const FLAGS = NODE_FLAGS.filter((flag) => !flag.startsWith('--import'));
const FOLLOWERS = 100;
/** Relays that start at the same time. */
const BATCH = 10;
const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-bench-job-'));
const children: ChildProcess[] = [];

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const tell = (line: string): boolean => process.stderr.write(`${line}\n`);
const rounded = (value: number, digits = 1): number => Number(value.toFixed(digits));

/** Returns the smallest, middle and largest of several values. */
function spread(values: readonly number[]) {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (part: number) => rounded(sorted[Math.floor((sorted.length - 1) * part)] ?? 0, 2);
  return { median: at(0.5), least: at(0), most: at(1) };
}

interface Cost {
  /** MiB. */
  readonly resident: ReturnType<typeof spread>;
  /** Thousandths of a core. */
  readonly millicores: ReturnType<typeof spread>;
}

/** Measures processes for some seconds. */
async function costOf(pids: readonly number[], seconds: number): Promise<Cost> {
  const before = pids.map(cpuMs);
  await wait(seconds * 1_000);
  const used = pids.map((pid, at) => (cpuMs(pid) - (before[at] ?? 0)) / seconds);
  return { resident: spread(pids.map(residentMiB)), millicores: spread(used) };
}

function started(args: readonly string[], env: Readonly<Record<string, string>>, log: string): ChildProcess {
  const file = openSync(join(folder, `${log}.log`), 'a');
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', file, file] });
  children.push(child);
  return child;
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a process could not be started');
  return pid;
}

async function until(what: string, isDone: () => boolean): Promise<void> {
  const late = performance.now() + 600_000;
  while (!isDone()) {
    if (performance.now() > late) throw new Error(`not within ten minutes: ${what}`);
    await wait(200);
  }
}

const SHOW_STATUS =
  'data:text/javascript,import fs from "node:fs";process.on("exit",()=>fs.writeSync(2,fs.readFileSync("/proc/self/status")))';

/** Returns the resident memory with which a program ends, in MiB. */
function residentAtEnd(args: readonly string[]): number {
  const { stderr } = spawnSync(process.execPath, ['--import', SHOW_STATUS, ...args], { encoding: 'utf8' });
  return rounded(Number(/VmRSS:\s+(\d+) kB/.exec(stderr)?.[1]) / 1_024);
}

/** Returns the requested memory of the relay in the samples, in MiB. */
function requestedMiB(): number {
  const sample = readFileSync(join(REPOSITORY, 'examples', 'jobs', 'job.yaml'), 'utf8');
  const [, mebibytes] = /requests:[^}]*?memory: (\d+)Mi/s.exec(sample) ?? [];
  if (mebibytes === undefined) throw new Error('examples/jobs/job.yaml requests no memory in Mi');
  return Number(mebibytes);
}

interface LogServer {
  readonly url: string;
  readonly pid: number;
  /** Sends a line. Resolves to the number of reads of the marketplace so far. */
  say(line: 'begin' | 'reads'): Promise<number>;
}

async function startLogServer(): Promise<LogServer> {
  const path = join(import.meta.dirname, 'job', 'log-process.ts');
  const child = spawn(process.execPath, [path, folder], { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] });
  children.push(child);
  if (!child.stdout) throw new TypeError('a process without its pipe');
  const lines = createInterface({ input: child.stdout });
  const { url } = JSON.parse(await nextLine(lines)) as { readonly url: string };
  return {
    ...{ url, pid: pidOf(child) },
    async say(line) {
      const answer = nextLine(lines);
      child.stdin?.write(`${line}\n`);
      return Number(await answer);
    },
  };
}

const nextLine = (lines: Interface): Promise<string> => new Promise((resolve) => lines.once('line', resolve));

/** Follows logs by names, and measures the server meanwhile. */
async function followed(server: LogServer, names: readonly string[], ca: string) {
  const memoryBefore = residentMiB(server.pid);
  let bytes = 0;
  const requests = names.map((name) => {
    const sent = request(`${server.url}/log/${NAMESPACE}/${name}?follow=true`, {
      ...{ ca, agent: false, headers: { authorization: 'Bearer bench', accept: 'application/x-ndjson' } },
    });
    sent.on('response', (response) => response.on('data', (chunk: Buffer) => (bytes += chunk.length)));
    sent.on('error', () => {});
    sent.end();
    return sent;
  });
  // The first text is 64 KiB for each follower.
  await wait(15_000);
  const [readsBefore, bytesBefore] = [await server.say('reads'), bytes];
  const cost = await costOf([server.pid], SECONDS);
  const reads = (await server.say('reads')) - readsBefore;
  for (const sent of requests) sent.destroy();
  await wait(2_000);
  return {
    followers: names.length,
    machines: new Set(names).size,
    readsPerSecond: rounded(reads / SECONDS, 2),
    kilobytesPerSecond: rounded((bytes - bytesBefore) / 1_024 / SECONDS),
    millicores: cost.millicores.median,
    addedMiB: rounded(cost.resident.median - memoryBefore),
  };
}

const definitions = ['gpuinstances', 'marketplaceaccounts'].map(
  (name) => parse(readFileSync(join(REPOSITORY, 'crds', `gpurental.dev_${name}.yaml`), 'utf8')) as never,
);

interface Relays {
  readonly pids: readonly number[];
  readonly names: () => readonly string[];
}

/** Starts the relays in turn; each has created its GpuInstance and watches it. */
async function startRelays(
  count: number,
  {
    env,
    objects,
    pod,
  }: {
    readonly env: Readonly<Record<string, string>>;
    readonly objects: () => readonly string[];
    readonly pod: (name: string) => string;
  },
): Promise<Relays> {
  const preload = join(import.meta.dirname, 'job', 'service-account.mjs');
  const pids: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const name = `pod-${at}`;
    const uid = pod(name);
    const args = [
      ...FLAGS,
      '--import',
      preload,
      BUNDLE,
      'job',
      '--image=ubuntu:24.04',
      '--max-price=1',
      '--',
      'true',
    ];
    pids.push(pidOf(started(args, { ...env, POD_NAME: name, POD_UID: uid }, name)));
    if (at % BATCH === BATCH - 1 || at === count - 1) {
      await until(`${at + 1} relays have their GpuInstance`, () => objects().length > at);
      tell(`${at + 1} of ${count} relays wait`);
    }
  }
  return { pids, names: objects };
}

async function main() {
  const identity = await issueIdentity(['127.0.0.1']);
  const { cert, key } = identity.certificate;
  writeFileSync(join(folder, 'tls.crt'), cert);
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'ca.crt'), identity.authorities);
  writeFileSync(join(folder, 'token'), 'bench');
  writeFileSync(join(folder, 'namespace'), NAMESPACE);
  identity.issued?.remove();
  const memory = createMemoryKube({ clock: systemClock, random: seededRandom(1), definitions });
  const put = (plural: string, name: string, body: object) =>
    memory.writes.create(
      { kind: memory.kind(plural), namespace: plural === 'namespaces' ? undefined : NAMESPACE, name },
      body as never,
    );
  put('namespaces', NAMESPACE, { metadata: { name: NAMESPACE } });
  const kube = await serveKube(memory.transport, sendWhole, { cert: String(cert), key: String(key) });
  const logServer = await startLogServer();
  try {
    const { hostname, port } = new URL(kube.origin);
    const env = {
      ...imageEnvironment(),
      ...{ KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, BENCH_SERVICE_ACCOUNT: folder },
      ...{ GPU_RENTAL_LOG_URL: logServer.url, GPU_RENTAL_LOG_CA: join(folder, 'ca.crt') },
    };
    const objects = () =>
      memory.store
        .all(memory.kind('gpuinstances'))
        .map((object) => String((object as { metadata: { name: string } }).metadata.name));
    const pod = (name: string): string => {
      const created = put('pods', name, {
        metadata: { name, namespace: NAMESPACE },
        spec: { restartPolicy: 'Never', containers: [{ name: 'gpu', image: 'x' }] },
      });
      return String((created as { metadata: { uid: string } }).metadata.uid);
    };
    const { pids } = await startRelays(RELAYS, { env, objects, pod });
    await wait(10_000);
    const waiting = await costOf(pids, SECONDS);
    await logServer.say('begin');
    await wait(15_000);
    const streaming = await costOf(pids, SECONDS);
    tell('relays measured');
    const peak = spread(pids.map(peakMiB));
    const relay = { waiting, streaming, peakMiB: peak };
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await wait(5_000);
    const account = (at: number, perAccount: number) => `a${Math.floor(at / perAccount)}`;
    const range = Array.from({ length: FOLLOWERS }, (_, at) => at);
    const followers = {
      oneMachine: await followed(
        logServer,
        range.map(() => 'one-machine'),
        identity.authorities,
      ),
      hundredMachinesOfOneAccount: await followed(
        logServer,
        range.map((at) => `b-${at}`),
        identity.authorities,
      ),
      hundredMachinesOfTwentyAccounts: await followed(
        logServer,
        range.map((at) => `${account(at, 5)}-${at}`),
        identity.authorities,
      ),
    };
    return {
      date: new Date().toISOString(),
      machine: machine(),
      relays: RELAYS,
      seconds: SECONDS,
      bareNodeMiB: residentAtEnd(['-e', '0']),
      versionMiB: residentAtEnd([BUNDLE, '--version']),
      relay,
      requestedMiB: requestedMiB(),
      logServer: followers,
    };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await kube.close();
  }
}

const isTooLarge = ({ relay, requestedMiB: requested }: Awaited<ReturnType<typeof main>>): boolean =>
  relay.streaming.resident.median > requested;

try {
  const figures = await main();
  const text = `${JSON.stringify(figures, undefined, 2)}\n`;
  // Figures of fewer relays do not replace the published ones.
  writeFileSync(join(import.meta.dirname, 'results', RELAYS < 100 ? 'job-part.json' : 'job.json'), text);
  process.stdout.write(text);
  if (isTooLarge(figures)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
