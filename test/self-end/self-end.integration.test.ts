import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FUSE_GRACE_SECONDS, FUSE_TICK_SECONDS } from '../../src/instance/self-end.ts';
import type { LedgerData } from '../../src/ledger/codec.ts';
import { LEDGER_NAMES } from '../../src/ledger/names.ts';
import { readLedger } from '../../src/ledger/storage.ts';
import { configMapResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import type { OperatorBench } from '../builders/running-operator.ts';
import { scaledClock } from '../builders/scaled-clock.ts';
import { until } from '../builders/until.ts';
import {
  conditionOf,
  contracts,
  destroys,
  patchInstance,
  reached,
  readyBench,
  useBenches,
} from '../integration/gpu-instance-bench.ts';

/** Seconds that the operator, the marketplace and the fuses count in one. */
const SPEED = 15;
const LIFE_SECONDS = 600;
/** Time that the operator is away after the end of the machine. */
const AWAY_SECONDS = 600;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const CAN_RUN =
  process.platform === 'linux' &&
  spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0 &&
  spawnSync('curl', ['--version']).status === 0;
if (!CAN_RUN) console.warn('Not tested: machines that end themselves. That needs Linux, unshare and curl.');

const EVENTS = { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };

let folder: string;
beforeAll(() => {
  // Machines have a /tmp of their own.
  const cache = join(process.cwd(), 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, 'self-end-'));
  const sleep = `#!/bin/sh\n[ "$1" = ${FUSE_TICK_SECONDS} ]&&exec /bin/sleep ${FUSE_TICK_SECONDS / SPEED}\nexec /bin/sleep "$@"\n`;
  writeFileSync(join(folder, 'sleep'), sleep);
  chmodSync(join(folder, 'sleep'), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
useBenches();

/** Starts an operator and a marketplace that pass time faster, with machines that run as processes. */
const fastBench = () =>
  readyBench({
    clock: scaledClock(SPEED),
    listens: true,
    simulator: { timeScale: SPEED, runMachines: { max: 4, report: (text) => console.warn(text) } },
    account: { pollInterval: '15s' },
    flags: {
      ...{ lateCall: '60s', listLag: '30s', goneSpacing: '5s', orphanAge: '5m', minPollInterval: '10s' },
      ...{ keyCheckInterval: '1m', leaderElectLeaseDuration: '10m', leaderElectRenewDeadline: '8m' },
      leaderElectRetryPeriod: '30s',
    },
  });

/** Returns the reasons of the events about an object. */
async function reasonsOf({ kube, namespace }: OperatorBench, name: string): Promise<readonly string[]> {
  type EventObject = KubeObject & {
    readonly reason?: string;
    readonly regarding?: { readonly name?: string };
  };
  const { items } = await kube.list<EventObject>(EVENTS, { namespace });
  return items.filter(({ regarding }) => regarding?.name === name).map(({ reason = '' }) => reason);
}

/** Returns the lines of the ledger about a machine. */
async function ledgerLines({ kube, namespace, simulator }: OperatorBench, machine: string) {
  const stored = new Map<string, LedgerData>();
  for (const name of LEDGER_NAMES) {
    const map = await kube.get<KubeObject & { readonly data?: LedgerData }>(configMapResource, {
      namespace,
      name,
    });
    if (map?.data) stored.set(name, map.data);
  }
  const month = new Date(simulator.now()).toISOString().slice(0, 7);
  return [...readLedger(stored, month).values()].flatMap(({ entries }) =>
    entries.filter((entry) => entry.machine === machine),
  );
}

/** Returns the bill of a machine that has ended. */
function billOf({ simulator }: OperatorBench, machine: string) {
  return simulator.world().tables.endedContracts[Number(machine)];
}

describe.skipIf(!CAN_RUN)('a machine that ends itself, with a whole operator', { timeout: 600_000 }, () => {
  test('proves its key, ends when the operator is away, and costs money until then', async () => {
    const bench = await fastBench();
    await bench.createInstance('life', {
      ...{ deletionPolicy: 'Destroy', maxLifetime: `${LIFE_SECONDS}s`, ssh: true },
      env: [{ name: 'PATH', value: `${folder}:${PATH}` }],
    });
    const { status } = await reached(bench, 'life', 'Ready');
    const machine = String(status?.instanceId);
    // Only the fuse ends this machine, however long the next steps take.
    await patchInstance(bench, { spec: { maxLifetime: '24h' } }, 'life');
    await until(
      'the condition shows the fixed end',
      async () => conditionOf(await bench.instance('life'), 'LifeFuseFixed')?.status === 'True',
    );
    const proven = await until(
      'the machine has proved its key',
      async () => {
        const { selfEnd } = (await bench.instance('life'))?.status ?? {};
        return selfEnd?.checkedAt === undefined ? undefined : selfEnd;
      },
      120_000,
    );
    expect(proven).toMatchObject({ proof: 'Proven', lifeSeconds: LIFE_SECONDS + FUSE_GRACE_SECONDS });

    await bench.crash();
    await until('the machine has ended itself', () => bench.billing().length === 0, 180_000);
    const bill = billOf(bench, machine);
    expect(destroys(bench)).toEqual([]);
    const billedSeconds = ((bill?.endedAt ?? 0) - (bill?.createdAt ?? 0)) / 1_000;
    expect(billedSeconds).toBeGreaterThanOrEqual(LIFE_SECONDS + FUSE_GRACE_SECONDS);
    await pause((AWAY_SECONDS / SPEED) * 1_000);

    await bench.start();
    const after = await until(
      'another machine runs',
      async () => {
        const object = await bench.instance('life');
        return object?.status?.instanceId !== machine && conditionOf(object, 'Ready')?.reason === 'Ready'
          ? object
          : undefined;
      },
      180_000,
    );
    expect(contracts(bench)).toBe(2);
    const [past] = after.status?.history ?? [];
    expect(past).toMatchObject({ instanceId: machine, reason: 'EndedItself' });
    const reasons = await reasonsOf(bench, 'life');
    expect(reasons).toContain('EndedItself');
    expect(reasons).not.toContain('Vanished');

    const [line, ...others] = await until('the ledger has the machine', async () => {
      const lines = await ledgerLines(bench, machine);
      return lines.length > 0 && lines;
    });
    expect(others).toEqual([]);
    expect(line?.reason).toBe('EndedItself');
    const lateSeconds = ((line?.end ?? 0) - (bill?.endedAt ?? 0)) / 1_000;
    expect(Math.abs(lateSeconds)).toBeLessThan(AWAY_SECONDS / 2);
    const share = (line?.cost ?? 0) / (bill?.dollarsMicros ?? 1);
    expect(share).toBeGreaterThan(0.9);
    // A busy operator sees the start late, and dates the end as late; it was away for half the life.
    expect(share).toBeLessThan(1.25);
  });
});
