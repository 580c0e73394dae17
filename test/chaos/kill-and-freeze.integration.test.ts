import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { writeKubeconfig } from '../cluster/connection.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { readStrictly } from '../settings/reader.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { OperatorProcess } from './operator-process.ts';

const { SECONDS, SEED } = readStrictly(process.env, (reader) => ({
  SECONDS: reader.whole('CHAOS_SECONDS', 1, 86_400) ?? 60,
  SEED: reader.seed('SEED') ?? Math.floor(Date.now() / 1000),
}));
const NAMES = Array.from({ length: 10 }, (_, index) => `w${index}`);
const CANARY = 'canary-5f1d0c7a9b';
const PAUSE_MS = { least: 300, more: 1_200 };
const FREEZE_MS = 15_000;
const SETTLE_MS = 240_000;
/** Of the requests to the API server. */
const SHARE_OF_FAULTS = 0.08;

let cluster: ClusterAccess;
let bench: OperatorBench;
let proxy: FaultProxy;
let service: { readonly url: string; close(): Promise<void> };
const processes: OperatorProcess[] = [];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function operatorArgs(): readonly string[] {
  const kubeconfig = join(cluster.folder, `chaos-${bench.namespace}.kubeconfig`);
  const { url, caPem } = proxy;
  writeKubeconfig(kubeconfig, { url, caPem, token: cluster.adminToken, name: 'chaos' });
  const flags = {
    kubeconfig,
    namespace: bench.namespace,
    'watch-namespace': bench.namespace,
    'marketplace-url': service.url,
    'late-call': '6s',
    'list-lag': '2s',
    'gone-spacing': '500ms',
    'orphan-age': '2s',
    'min-poll-interval': '300ms',
    'key-check-interval': '2s',
    'leader-elect-lease-duration': '8s',
    'leader-elect-renew-deadline': '5s',
    'leader-elect-retry-period': '1s',
    pacing: 'off',
    'metrics-bind-address': '0',
    'health-probe-bind-address': '0',
  };
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

beforeAll(async () => {
  cluster = sharedCluster();
  bench = await OperatorBench.open(cluster, { simulator: { apiKey: CANARY, catalog: 400 } });
  proxy = await startFaultProxy({ url: cluster.url, caPem: cluster.caPem, random: seededRandom(SEED + 1) });
  service = await bench.simulator.listen(0);
  for (const _ of [0, 1]) processes.push(new OperatorProcess(operatorArgs()));
}, 120_000);

afterAll(async () => {
  for (const operator of processes) operator.kill();
  await service.close();
  await proxy.close();
  await bench.close();
});

/** What still differs between the ledger and the objects; empty where exactly the recorded machines bill. */
async function disagreements(): Promise<readonly string[]> {
  const differing: string[] = [];
  const unclaimed = new Set(bench.billing().map(({ id }) => id));
  for (const name of NAMES) {
    const instance = await bench.instance(name);
    if (instance === undefined) continue;
    const { phase, instanceId, conditions } = instance.status ?? {};
    const isBilled = instanceId !== undefined && unclaimed.delete(instanceId);
    const isStopped = instance.spec.powerState === 'Stopped' && phase === 'Stopped';
    if (isBilled && (phase === 'Running' || isStopped)) continue;
    const ready = conditions?.find(({ type }) => type === 'Ready');
    differing.push(`${name}: ${phase}, machine ${instanceId}, ${ready?.reason}: ${ready?.message}`);
  }
  return [...differing, ...[...unclaimed].map((id) => `machine ${id} bills and nobody records it`)];
}

const FAULTS = [
  'reset-after',
  'reset-before',
  '5xx',
  '5xx-with-effect',
  'error-with-effect',
  '429-text',
  'success-false-with-effect',
  'offer-gone',
  'delete-ignored',
  'truncated-list',
] as const;

/** How often each act comes among the others: between two kills there is time to lead and to rent. */
const WEIGHTS = {
  kill: 2,
  freeze: 2,
  cut: 2,
  marketplace: 6,
  deleteOrCreate: 8,
  image: 5,
  power: 5,
} as const;
type Act = keyof typeof WEIGHTS;
const DRAWN_FROM = (Object.keys(WEIGHTS) as Act[]).flatMap((act) => Array<Act>(WEIGHTS[act]).fill(act));

/** What people, networks and machines do, one act at a time. */
class Storm {
  readonly #random: Random;
  readonly counts = new Map<string, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  async strike(): Promise<void> {
    const acts: Readonly<Record<Act, () => Promise<void>>> = {
      kill: async () => this.#anyOf(processes).kill(),
      freeze: async () => this.#freeze(this.#anyOf(processes)),
      cut: async () => proxy.cut(),
      marketplace: () => bench.fault(this.#anyOf(FAULTS)),
      deleteOrCreate: () => this.#deleteOrCreate(this.#anyOf(NAMES)),
      image: () => this.#edit({ image: `example/image:${Math.ceil(this.#random.next() * 3)}` }),
      power: () => this.#edit({ powerState: this.#anyOf(['Running', 'Running', 'Stopped']) }),
    };
    const act = this.#anyOf(DRAWN_FROM);
    this.counts.set(act, (this.counts.get(act) ?? 0) + 1);
    await acts[act]();
  }

  pause(): Promise<void> {
    return pause(PAUSE_MS.least + this.#random.next() * PAUSE_MS.more);
  }

  #anyOf<T>(options: readonly T[]): T {
    // The index is below the length, and undefined may be an option.
    return options[Math.floor(this.#random.next() * options.length)] as T;
  }

  #freeze(frozen: OperatorProcess): void {
    frozen.freeze();
    void pause(this.#random.next() * FREEZE_MS).then(() => frozen.thaw());
  }

  async #deleteOrCreate(name: string): Promise<void> {
    const ref = { namespace: bench.namespace, name };
    if (await bench.instance(name)) await bench.kube.delete(gpuInstanceResource, ref);
    else await bench.createInstance(name);
  }

  async #edit(spec: Record<string, unknown>): Promise<void> {
    const name = this.#anyOf(NAMES);
    const instance = await bench.instance(name);
    if (instance === undefined || instance.metadata.deletionTimestamp !== undefined) return;
    const ref = { namespace: bench.namespace, name };
    await bench.kube.patch(gpuInstanceResource, ref, { type: 'merge', body: { spec } });
  }
}

/** Where what the operators wrote can be read. */
function keepLogs(): string {
  const files = processes.map(({ output }, index) => {
    const file = join(tmpdir(), `chaos-seed-${SEED}-operator-${index}.log`);
    writeFileSync(file, output);
    return file;
  });
  return `their logs are ${files.join(' and ')}`;
}

function startWhatDied(): void {
  for (const operator of processes) if (!operator.isRunning) operator.start();
}

test(
  `ledger and cluster agree after ${SECONDS} s of kills and freezes behind a bad connection (seed ${SEED})`,
  async () => {
    const storm = new Storm(seededRandom(SEED));
    await bench.putKey(CANARY);
    await bench.createAccount({ orphanPolicy: 'Destroy' });
    startWhatDied();
    for (const name of NAMES) await bench.createInstance(name);
    proxy.setWeather(SHARE_OF_FAULTS);
    const end = performance.now() + SECONDS * 1000;
    while (performance.now() < end) {
      await storm.pause();
      await storm.strike();
      startWhatDied();
    }
    proxy.setWeather(0);
    for (const operator of processes) operator.thaw();
    startWhatDied();
    await bench.clearFaults();
    let differing: readonly string[] = [];
    await until(
      'ledger and cluster agree',
      async () => {
        differing = await disagreements();
        return differing.length === 0;
      },
      SETTLE_MS,
    ).catch((cause) => {
      throw new Error(`Ledger and cluster differ: ${differing.join(', ')}; ${keepLogs()}`, { cause });
    });
    const figures = {
      seed: SEED,
      seconds: SECONDS,
      ...Object.fromEntries([...storm.counts, ...proxy.counts]),
    };
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    await cluster.kubectl(['delete', 'gpuinstance', '--all', '-n', bench.namespace, '--timeout=180s']);
    expect(bench.billing()).toEqual([]);
  },
  (SECONDS + 600) * 1000,
);

test('the key of the marketplace is in no line that a killed or frozen operator wrote, and in no object but Secrets', async () => {
  for (const { output } of processes) expect(output).not.toContain(CANARY);
  const kinds = 'gpuinstances,marketplaceaccounts,events,configmaps,leases,services';
  const objects = await cluster.kubectl(['get', kinds, '-n', bench.namespace, '-o', 'yaml']);
  expect(objects).not.toContain(CANARY);
});
