/**
 * `npm run bench:cli`: what the bundle costs before a command does its work, beside a bare Node. Wall time is the
 * median of RUNS runs, one after another; CPU time is the mean over them, which a busy machine changes less. The
 * marketplace is the simulator on loopback, the cluster a server on loopback that answers one list.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

const RUNS = 25;
const BUNDLE = join(import.meta.dirname, '..', 'dist', 'gpu-rent.mjs');
/** Goals in milliseconds: of the whole run, or of what is left without the bare Node. */
const GOALS = { help: 200, overhead: 400 } as const;

interface Measured {
  readonly wallMs: number;
  /** CPU time; undefined if the system does not report it. */
  readonly cpuMs: number | undefined;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Returns the CPU time of all children that ended so far (Linux: cutime and cstime, in hundredths of a second). */
function childrenCpuMs(): number | undefined {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return undefined;
  }
}

/** Runs it RUNS times after one run that fills the caches of the file system. */
function measure(args: readonly string[], env: Readonly<Record<string, string>>): Measured {
  const run = () => {
    const begun = performance.now();
    const { status, stderr } = spawnSync(process.execPath, args, {
      env: { PATH: process.env.PATH ?? '', ...env },
    });
    if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${String(stderr)}`);
    return performance.now() - begun;
  };
  run();
  const before = childrenCpuMs();
  const walls = Array.from({ length: RUNS }, run);
  const after = childrenCpuMs();
  const cpuMs = before === undefined || after === undefined ? undefined : (after - before) / RUNS;
  return { wallMs: median(walls), cpuMs };
}

/** Serves an empty list for every request in a separate thread: the measurement blocks this one. */
function serveLists(): void {
  const list = JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    metadata: { resourceVersion: '1' },
    items: [],
  });
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(list);
  });
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage(server.address()));
}

async function kubeconfig(folder: string): Promise<{ readonly path: string; readonly worker: Worker }> {
  const worker = new Worker(new URL(import.meta.url));
  const { port } = await new Promise<{ port: number }>((resolve) => worker.once('message', resolve));
  const named = (name: string, value: object) => [{ name, ...value }];
  const path = join(folder, 'kubeconfig');
  const content = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'bench' },
    clusters: named('bench', { cluster: { server: `http://127.0.0.1:${port}` } }),
    users: named('bench', { user: { token: 'none' } }),
    contexts: named('bench', { context: { cluster: 'bench', user: 'bench' } }),
  };
  writeFileSync(path, JSON.stringify(content));
  return { path, worker };
}

async function simulator() {
  const child = spawn(process.execPath, [BUNDLE, 'simulator', '--port', '0', '--no-rate-limits'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`the simulator ended with ${code}`)));
  });
  const { url, apiKey } = JSON.parse(line) as { readonly url: string; readonly apiKey: string };
  return { env: { GPU_RENT_URL: url, GPU_RENT_API_KEY: apiKey }, child };
}

function row(
  name: string,
  { wallMs, cpuMs }: Measured,
  goal?: { readonly ms: number; readonly of: number },
): string {
  const cpu = cpuMs === undefined ? '' : `${cpuMs.toFixed(0)} ms CPU`.padStart(12);
  const verdict = goal ? `${goal.of.toFixed(0)} of at most ${goal.ms} ms` : '';
  return `${name.padEnd(34)}${`${wallMs.toFixed(0)} ms`.padStart(8)}${cpu}   ${verdict}\n`;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-bench-'));
  const [market, cluster] = [await simulator(), await kubeconfig(folder)];
  try {
    const env = { HOME: folder, KUBECONFIG: cluster.path, ...market.env };
    const bare = measure(['-e', '0'], env);
    const help = measure([BUNDLE, '--help'], env);
    process.stdout.write(`median of ${RUNS} runs, Node ${process.version}\n`);
    process.stdout.write(row('node -e 0', bare));
    process.stdout.write(row('gpu-rent --help', help, { ms: GOALS.help, of: help.wallMs }));
    for (const line of [
      'create endpoint --help',
      'show user',
      'list instances',
      'search offers --limit 5',
      'cost',
    ]) {
      const measured = measure([BUNDLE, ...line.split(' ')], env);
      const goal = { ms: GOALS.overhead, of: measured.wallMs - bare.wallMs };
      process.stdout.write(row(`gpu-rent ${line}`, measured, goal));
    }
  } finally {
    market.child.removeAllListeners('exit').kill();
    await cluster.worker.terminate();
    rmSync(folder, { recursive: true });
  }
}

if (isMainThread) await main();
else serveLists();
