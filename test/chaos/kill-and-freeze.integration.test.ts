import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { writeKubeconfig } from '../cluster/connection.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { readStrictly } from '../settings/reader.ts';
import { differences } from './agreement.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { createGroup, GROUP_NAMES } from './groups.ts';
import { Onlooker } from './onlooker.ts';
import { OperatorProcess } from './operator-process.ts';
import { INSTANCE, INSTANCE_NAMES, Storm } from './storm.ts';
import { WorkerReports } from './worker-reports.ts';

const { SECONDS, SEED } = readStrictly(process.env, (reader) => ({
  SECONDS: reader.whole('CHAOS_SECONDS', 1, 86_400) ?? 60,
  SEED: reader.seed('SEED') ?? Math.floor(Date.now() / 1000),
}));
const CANARY = 'canary-5f1d0c7a9b';
const SETTLE_MS = 240_000;
const LOOK_EVERY_MS = 500;
const KINDS =
  'gpuinstances,endpointgroups,marketplaceaccounts,events,configmaps,leases,services,endpointslices';
/** Share of requests to the API server that a fault strikes. */
const SHARE_OF_FAULTS = 0.08;

let cluster: ClusterAccess;
let bench: OperatorBench;
let proxy: FaultProxy;
let service: { readonly url: string; close(): Promise<void> };
let reports: WorkerReports;
let onlooker: Onlooker;
const processes: OperatorProcess[] = [];
/** The objects that stood after the storm. */
let shown = '';

/** Returns the arguments of two operators that differ only in the port for worker reports. */
function operatorArgs(reportPort: number): readonly string[] {
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
    'max-rentals-per-hour': '10000',
    'scaling-speed': '60',
    'worker-report-bind-address': `127.0.0.1:${reportPort}`,
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
  const ports = [await findFreePort(), await findFreePort()];
  for (const port of ports) processes.push(new OperatorProcess(operatorArgs(port)));
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  reports = new WorkerReports({ simulator: bench.simulator, group: 'reported', urls });
  onlooker = new Onlooker(bench);
}, 120_000);

afterAll(async () => {
  onlooker.close();
  reports.close();
  for (const operator of processes) operator.kill();
  await service.close();
  await proxy.close();
  await bench.close();
});

/** Writes the logs of the operators to files. Returns their paths. */
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

/** Waits until what was asked for is there; what still differs after that is the error. */
async function agree(): Promise<void> {
  let differing: readonly string[] = [];
  await until(
    'ledger and cluster agree',
    async () => {
      startWhatDied();
      differing = differences(await onlooker.read(reports.offered));
      if (differing.length > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      return differing.length === 0;
    },
    SETTLE_MS,
  ).catch((cause) => {
    throw new Error(`Ledger and cluster differ: ${differing.join('; ')}; ${keepLogs()}`, { cause });
  });
}

async function weather(storm: Storm): Promise<void> {
  proxy.setWeather(SHARE_OF_FAULTS);
  const end = performance.now() + SECONDS * 1000;
  while (performance.now() < end) {
    await storm.pause();
    await storm.strike();
    startWhatDied();
  }
  proxy.setWeather(0);
  for (const operator of processes) operator.thaw();
  await bench.clearFaults();
}

test(
  `ledger and cluster agree after ${SECONDS} s of kills and freezes behind a bad connection (seed ${SEED})`,
  async () => {
    const random = seededRandom(SEED);
    const storm = new Storm({ random, bench, proxy, processes, reports });
    await bench.putKey(CANARY);
    await bench.createAccount({ orphanPolicy: 'Destroy' });
    startWhatDied();
    for (const name of INSTANCE_NAMES) await bench.createInstance(name, INSTANCE);
    for (const name of GROUP_NAMES) await createGroup(bench, name);
    const watched = onlooker.watch();
    // What is killed and frozen has work under way.
    await agree();
    await weather(storm);
    await agree();
    const figures = {
      ...{ seed: SEED, seconds: SECONDS, ...Object.fromEntries([...storm.counts, ...proxy.counts]) },
      ...{ ...onlooker.counts, reportsAccepted: reports.accepted },
    };
    process.stderr.write(`${JSON.stringify(figures)}\n`);
    shown = await cluster.kubectl(['get', KINDS, '-n', bench.namespace, '-o', 'yaml']);
    for (const kinds of ['epg,gpui', 'gpuacct'])
      await cluster.kubectl(['delete', kinds, '--all', '-n', bench.namespace, '--timeout=180s']);
    await agree();
    expect(bench.billing()).toEqual([]);
    onlooker.close();
    await watched;
    expect(onlooker.excesses).toEqual([]);
  },
  (SECONDS + 900) * 1000,
);

test('the key of the marketplace is in no line that a killed or frozen operator wrote, and in no object but Secrets', () => {
  for (const { output } of processes) expect(output).not.toContain(CANARY);
  expect(shown).toContain('kind: MarketplaceAccount');
  expect(shown).not.toContain(CANARY);
});
