/**
 * Memory of the operator with large objects: GpuInstances of about 1 MB each (24 variables of 32 kB and 250 kB of
 * annotations), which an API server sends as a stream and then in pages. The operator is the bundle that ships, with what
 * the image sets for it (`npm run build` first): it reads them all, as caches and in consistent lists, writes a status of
 * each, and hears of a change of 200 of them. INSTANCES (default 2000) comes from the environment.
 * Prints one JSON line; exit 1 if the peak of resident memory is above the chart's limit.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { API_VERSION } from '../src/api/v1alpha1/names.ts';
import { systemClock } from '../src/lib/clock.ts';
import { seededRandom } from '../src/lib/random.ts';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { createMemoryKube } from '../test/simulation/memory-kube/memory-kube.ts';
import { serveLargeObjects } from './memory/large-objects.ts';
import { imageEnvironment } from './operator/image-environment.ts';

const { INSTANCES } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({ INSTANCES: reader.whole('INSTANCES', 1, 100_000) ?? 2000 })),
);
const CHANGED = Math.min(200, INSTANCES);
const REPOSITORY = join(import.meta.dirname, '..');
const INSTANCES_PATH = '/apis/gpurental.dev/v1alpha1/namespaces/default/gpuinstances';
const MIB = 1024;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** `resources.limits.memory` of the chart, in MiB. */
function limitMiB(): number {
  const values = readFileSync(join(REPOSITORY, 'charts', 'gpu-rental-operator', 'values.yaml'), 'utf8');
  const [, limit] = /limits:\s+memory: (\d+)Mi/.exec(values) ?? [];
  if (limit === undefined) throw new Error('values.yaml names no memory limit in Mi');
  return Number(limit);
}

const definitions = readdirSync(join(REPOSITORY, 'crds')).map(
  (file) => parse(readFileSync(join(REPOSITORY, 'crds', file), 'utf8')) as never,
);
const memory = createMemoryKube({ clock: systemClock, random: seededRandom(1), definitions });

async function write(method: string, path: string, body: unknown): Promise<void> {
  const headers = {
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  };
  const { status } = await memory.transport({
    method,
    origin: '',
    path,
    headers,
    body: JSON.stringify(body),
  });
  if (status >= 300) throw new Error(`${method} ${path} was answered with ${status}`);
}

/** Returns the number of instances whose status is of their current generation. */
function judged(): number {
  const objects = memory.store.all(memory.kind('gpuinstances')) as readonly {
    readonly metadata?: { readonly generation?: number };
    readonly status?: { readonly observedGeneration?: number };
  }[];
  return objects.filter(({ metadata, status }) => status?.observedGeneration === metadata?.generation).length;
}

/** Returns a line of a process's status file, in MiB. Unlike resource usage, it contains nothing of the parent. */
function residentMiB(pid: number, line: 'VmHWM' | 'VmRSS'): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(new RegExp(`${line}:\\s+(\\d+) kB`).exec(text)?.[1]) / MIB);
}

async function main(): Promise<Record<string, unknown>> {
  await write('POST', '/api/v1/namespaces', { metadata: { name: 'gpu-rental-system' } });
  for (let index = 0; index < INSTANCES; index += 1) {
    await write('POST', INSTANCES_PATH, {
      ...{ apiVersion: API_VERSION, kind: 'GpuInstance' },
      metadata: { name: `large-${index}`, namespace: 'default' },
      spec: { offers: [{ maxPricePerHour: '0.90' }], image: 'example/work:1', disk: '20G' },
    });
  }
  const kubeconfig = join(folder, 'kubeconfig.json');
  const context = { name: 'bench', context: { cluster: 'bench', user: 'bench' } };
  const settings = { clusters: [{ name: 'bench', cluster: { server: server.origin } }], contexts: [context] };
  const users = [{ name: 'bench', user: { token: 'none' } }];
  writeFileSync(kubeconfig, JSON.stringify({ ...settings, users, 'current-context': 'bench' }));
  const log = openSync(join(folder, 'operator.log'), 'w');
  const args = ['operator', '--kubeconfig', kubeconfig, '--log-level', 'info'];
  const ports = ['--metrics-bind-address', '0', '--health-probe-bind-address', '0'];
  const operator = spawn(process.execPath, [join(REPOSITORY, 'dist', 'gpu-rent.mjs'), ...args, ...ports], {
    ...{ stdio: ['ignore', log, log], env: { ...process.env, ...imageEnvironment() } },
  });
  const { pid } = operator;
  if (pid === undefined) throw new Error('the operator could not be started');
  const untilJudged = async (): Promise<number> => {
    const begun = performance.now();
    while (judged() < INSTANCES) {
      if (operator.exitCode !== null || operator.signalCode !== null)
        throw new Error(
          `the operator ended: ${readFileSync(join(folder, 'operator.log'), 'utf8').slice(-2000)}`,
        );
      await wait(1000);
      process.stderr.write(`${judged()} of ${INSTANCES}, ${residentMiB(pid, 'VmRSS')} MiB\n`);
    }
    return Math.round((performance.now() - begun) / 1000);
  };
  try {
    const secondsToAll = await untilJudged();
    const filledMiB = residentMiB(pid, 'VmHWM');
    for (let index = 0; index < CHANGED; index += 1)
      await write('PATCH', `${INSTANCES_PATH}/large-${index}`, { spec: { disk: '30G' } });
    const secondsToChanges = await untilJudged();
    await wait(10_000);
    const peakMiB = residentMiB(pid, 'VmHWM');
    const residentAtRestMiB = residentMiB(pid, 'VmRSS');
    const figures = {
      secondsToAll,
      changed: CHANGED,
      secondsToChanges,
      filledMiB,
      peakMiB,
      residentAtRestMiB,
    };
    return { instances: INSTANCES, ...figures, limitMiB: limitMiB() };
  } finally {
    operator.kill('SIGTERM');
    if (operator.exitCode === null && operator.signalCode === null) await once(operator, 'exit');
  }
}

const folder = mkdtempSync(join(tmpdir(), 'bench-memory-'));
const server = await serveLargeObjects(memory.transport);
try {
  const figures = await main();
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exitCode = Number(figures['peakMiB']) < limitMiB() ? 0 : 1;
} finally {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}
