import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { type CuttingProxy, startCuttingProxy } from '../builders/cutting-proxy.ts';
import { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { OperatorProcess } from './operator-process.ts';

const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 60);
const SEED = Number(process.env['SEED'] ?? Math.floor(Date.now() / 1000));
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const CANARY = 'canary-5f1d0c7a9b';
const PAUSE_MS = { least: 500, more: 2_000 };
const FREEZE_MS = 20_000;
const SETTLE_MS = 240_000;

let cluster: ClusterAccess;
let bench: OperatorBench;
let proxy: CuttingProxy;
let service: { readonly url: string; close(): Promise<void> };
const processes: OperatorProcess[] = [];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function operatorArgs(index: number): readonly string[] {
  const kubeconfig = join(cluster.folder, `chaos-${bench.namespace}-${index}.kubeconfig`);
  writeFileSync(kubeconfig, readFileSync(cluster.kubeconfigPath, 'utf8').replaceAll(cluster.url, proxy.url));
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
    pacing: 'off',
    'metrics-bind-address': '0',
    'health-probe-bind-address': '0',
  };
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

beforeAll(async () => {
  cluster = sharedCluster();
  bench = await OperatorBench.open(cluster, { simulator: { apiKey: CANARY } });
  proxy = await startCuttingProxy(cluster.url);
  service = await bench.simulator.listen(0);
  for (const index of [0, 1]) processes.push(new OperatorProcess(operatorArgs(index)));
}, 120_000);

afterAll(async () => {
  for (const operator of processes) operator.kill();
  await service.close();
  await proxy.close();
  await bench.close();
});

/** Whether the ledger bills exactly the machines that objects record. */
async function agrees(): Promise<boolean> {
  const recorded: number[] = [];
  for (const name of NAMES) {
    const instance = await bench.instance(name);
    if (instance === undefined) continue;
    if (instance.status?.phase !== 'Running' || instance.status.instanceId === undefined) return false;
    recorded.push(instance.status.instanceId);
  }
  const billed = bench.billing().map(({ id }) => id);
  return JSON.stringify(recorded.sort()) === JSON.stringify(billed.sort());
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

test(
  `ledger and cluster agree after ${SECONDS} s of kills and freezes (seed ${SEED})`,
  async () => {
    const random = seededRandom(SEED);
    const anyOf = <T>(options: readonly T[]): T => options[Math.floor(random.next() * options.length)] as T;
    await bench.putKey(CANARY);
    await bench.createAccount({ orphanPolicy: 'Destroy' });
    for (const operator of processes) operator.start();
    for (const name of NAMES) await bench.createInstance(name);
    const acts: readonly (() => Promise<void>)[] = [
      async () => anyOf(processes).kill(),
      async () => {
        const frozen = anyOf(processes);
        frozen.freeze();
        void pause(random.next() * FREEZE_MS).then(() => frozen.thaw());
      },
      async () => proxy.cut(),
      async () => bench.fault(anyOf(FAULTS)),
      async () => {
        const name = anyOf(NAMES);
        if (await bench.instance(name))
          await cluster.kubectl(['delete', 'gpuinstance', name, '-n', bench.namespace, '--wait=false']);
        else await bench.createInstance(name);
      },
    ];
    const end = performance.now() + SECONDS * 1000;
    while (performance.now() < end) {
      await pause(PAUSE_MS.least + random.next() * PAUSE_MS.more);
      await anyOf(acts)();
      for (const operator of processes) if (!operator.isRunning) operator.start();
    }
    await pause(FREEZE_MS);
    for (const operator of processes) {
      operator.thaw();
      if (!operator.isRunning) operator.start();
    }
    await bench.clearFaults();
    await until('ledger and cluster agree', agrees, SETTLE_MS);
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
