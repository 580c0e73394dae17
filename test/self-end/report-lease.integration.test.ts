import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { LEASE_PROOF_ENV, WORKER_TOKEN_ENV } from '../../src/api/v1alpha1/names.ts';
import { LeaseReports } from '../../src/controllers/gpu-instance/lease-reports.ts';
import { fuseLine } from '../../src/instance/self-end.ts';
import { startText } from '../../src/instance/start-text.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import { newIdentity } from '../../src/ownership/identity.ts';
import { leaseProof, workerToken } from '../../src/ownership/worker-token.ts';
import type { RunningServer } from '../../src/server/http-server.ts';
import { serveReports } from '../../src/server/report-server.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';

/** A machine counts 60 seconds in each second. */
const SPEED = 60;
const LEASE_SECONDS = 20;
const RENTAL = { uid: 'uid-1', attempt: 1 };
const KEY = 'team/trainer';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const WAIT = { timeout: 60_000, interval: 100 };

const CAN_ISOLATE =
  process.platform === 'linux' && spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0;

const { keys, ...rest } = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Returns a folder whose `sleep` is short, below the working directory: machines have a /tmp of their own. */
function fastFolder(): string {
  mkdirSync(join('node_modules', '.cache'), { recursive: true });
  const folder = mkdtempSync(join(process.cwd(), 'node_modules', '.cache', 'report-lease-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const sleep = `#!/bin/sh\n[ "$1" = 30 ]&&exec /bin/sleep ${30 / SPEED}\nexec /bin/sleep "$@"\n`;
  writeFileSync(join(folder, 'sleep'), sleep);
  chmodSync(join(folder, 'sleep'), 0o755);
  return folder;
}

/** Rents a machine that requests its renewals at `reportUrl`, and returns its id and calls about it. */
async function rented(reportUrl: string, proof: string) {
  const simulator = createSimulator({
    ...{ apiKey: 'k', catalog: [{ id: 1 }], runMachines: { max: 1, report: () => undefined } },
    settings: { pauses: { scale: 0 }, boot: { scale: 0 } },
  });
  const { url, close } = await simulator.listen();
  cleanups.push(close);
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: 'Bearer k' };
    const reply = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // oxlint-disable-next-line typescript/no-explicit-any -- replies are read by name
    return (await reply.json()) as any;
  };
  const { selfEnd: facts } = vastFacts;
  const line = facts && fuseLine({ url, facts, reportUrl }, { leaseSeconds: LEASE_SECONDS * SPEED });
  const { new_contract: id } = await call('PUT', '/api/v0/asks/1/', {
    ...{ image: 'x', disk: 10, runtype: 'ssh', onstart: startText(line ?? '', 'exec sleep 3600\n') },
    env: {
      PATH: `${fastFolder()}:${PATH}`,
      [WORKER_TOKEN_ENV]: workerToken(keys, RENTAL),
      [LEASE_PROOF_ENV]: proof,
    },
  });
  const exists = async () => (await call('GET', `/api/v0/instances/${id}/`)).instances?.actual_status;
  return { id: String(id), exists };
}

/** Serves the reports of one object, whose machine is known later. */
async function operator() {
  let object: GpuInstance | undefined;
  const reports = new LeaseReports({
    ...{ clock: systemClock, isLeading: () => true, identity: () => ({ ...rest, keys }) },
    instancesById: (id) => (object?.status?.instanceId === id ? [object] : []),
    reportUrl: 'http://127.0.0.1',
  });
  const server: RunningServer = await serveReports((_path, body) => reports.take(body), {
    ...{ host: '127.0.0.1', port: 0 },
  });
  cleanups.push(server.close, () => reports.stop());
  const adopt = (instanceId: string) => {
    object = {
      metadata: { name: 'trainer', namespace: 'team', uid: RENTAL.uid },
      spec: { lease: { duration: '30m', by: 'Report' } },
      status: {
        ...{ instanceId, actualStatus: 'running', attempt: RENTAL.attempt },
        selfEnd: { leaseSeconds: LEASE_SECONDS * SPEED, proof: 'Unproven' },
      },
      // The receiver reads these fields only.
    } as unknown as GpuInstance;
  };
  const view = () => object && reports.view(KEY, object);
  return { url: server.url, adopt, view, close: server.close };
}

describe.runIf(CAN_ISOLATE)('a lease by report, with processes for the machine', { timeout: 120_000 }, () => {
  test('keeps a machine while it is renewed, and ends it when the report server is gone', async () => {
    const { url, adopt, view, close } = await operator();
    const machine = await rented(url, leaseProof(keys, RENTAL));
    adopt(machine.id);
    const seen = new Set<number>();
    await expect
      .poll(() => {
        const renewedAt = view()?.renewedAt;
        if (renewedAt !== undefined) seen.add(renewedAt);
        return seen.size;
      }, WAIT)
      .toBeGreaterThanOrEqual(2);
    expect(await machine.exists()).toBe('running');
    const last = Math.max(...seen);
    await close();
    await expect.poll(machine.exists, WAIT).toBeUndefined();
    expect((systemClock.monotonic() - last) / 1_000).toBeGreaterThanOrEqual(LEASE_SECONDS);
  });

  test('is never armed by an operator without the key of the rental', async () => {
    const { url, adopt, view } = await operator();
    const machine = await rented(url, 'another');
    adopt(machine.id);
    await expect
      .poll(() => view()?.detail, WAIT)
      .toBe('the machine does not accept the reply of the operator');
    expect(view()).not.toHaveProperty('renewedAt');
    expect(await machine.exists()).toBe('running');
  });
});
