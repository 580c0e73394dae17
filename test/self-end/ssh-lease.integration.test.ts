import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLI } from '../../scripts/demo/processes.ts';
import { SSHD } from '../../scripts/demo/ssh-server.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { fuseLine } from '../../src/instance/self-end.ts';
import { startText } from '../../src/instance/start-text.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import { findFreePort } from '../cluster/free-port.ts';
import type { KeeperInput, KeeperView } from './lease-keeper.ts';

/** A machine counts 45 seconds in each second, so its lease of half an hour is 40 seconds here. */
const SPEED = 45;
const LEASE_SECONDS = 40;
/** Each machine runs its own SSH server, as root of namespaces of its own. */
const CAN_RUN = SSHD !== undefined && process.platform === 'linux' && userInfo().uid === 0;
if (!CAN_RUN)
  console.warn('Not tested: leases by SSH on machines. That needs Linux, root and an SSH server.');

const KEEPER = join(import.meta.dirname, 'lease-keeper.ts');
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

interface Market {
  readonly url: string;
  readonly apiKey: string;
  readonly ca: string;
}

let folder: string;
let simulator: ChildProcess;
let market: Market;
const children: ChildProcess[] = [];

beforeAll(async () => {
  if (!CAN_RUN) return;
  mkdirSync('/run/sshd', { recursive: true });
  // Machines have a /tmp, /var/tmp and /root of their own.
  mkdirSync(join('node_modules', '.cache'), { recursive: true });
  folder = mkdtempSync(join(process.cwd(), 'node_modules', '.cache', 'lease-'));
  const sleep = `#!/bin/sh\n[ "$1" = 30 ]&&exec /bin/sleep ${30 / SPEED}\nexec /bin/sleep "$@"\n`;
  writeFileSync(join(folder, 'sleep'), sleep);
  chmodSync(join(folder, 'sleep'), 0o755);
  const args = ['simulator', '--run-machines', '--control', '--boot-scale', '0', '--offers', '50'];
  simulator = spawn(process.execPath, [CLI, ...args, '--no-rate-limits'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (!simulator.stdout) throw new Error('no output');
  const [line] = (await once(createInterface({ input: simulator.stdout }), 'line')) as [string];
  market = JSON.parse(line) as Market;
}, 60_000);

afterAll(async () => {
  if (!CAN_RUN) return;
  for (const child of children) child.kill('SIGKILL');
  simulator.kill('SIGTERM');
  await once(simulator, 'exit');
  rmSync(folder, { recursive: true, force: true });
});

// oxlint-disable-next-line typescript/no-explicit-any -- replies are read by name
async function call(method: string, path: string, body?: object): Promise<any> {
  const sent = request(market.url + path, {
    ...{ method, ca: readFileSync(market.ca) },
    headers: { authorization: `Bearer ${market.apiKey}` },
  });
  sent.end(body && JSON.stringify(body));
  const [reply] = await once(sent, 'response');
  return JSON.parse(await text(reply)) as unknown;
}

/** Returns the start script of an image with an SSH server, which accepts the keys that the marketplace put there. */
const serverScript = (port: number) => `#!/bin/sh
ssh-keygen -q -t ed25519 -N '' -f "$HOME/host"
mkdir -p "$HOME/.ssh"
cat >"$HOME/sshd_config" <<X
ListenAddress 127.0.0.1:${port}
HostKey $HOME/host
AuthorizedKeysFile $HOME/.ssh/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
X
exec ${SSHD} -D -e -f "$HOME/sshd_config"
`;

/** Rents a machine whose fuse has a lease of half an hour, and returns the object of it. */
async function rent(): Promise<GpuInstance> {
  const port = await findFreePort();
  const { selfEnd: facts } = vastFacts;
  const line = facts && fuseLine({ url: market.url, facts }, { leaseSeconds: LEASE_SECONDS * SPEED });
  if (line === undefined) throw new Error('no fuse');
  const { offers } = await call('POST', '/api/v0/bundles/', { rentable: { eq: true }, limit: 5 });
  const rented = await call('PUT', `/api/v0/asks/${offers[0].id}/`, {
    ...{ image: 'x', disk: 10, runtype: 'ssh', onstart: startText(line, serverScript(port)) },
    env: { PATH: `${folder}:${PATH}` },
  });
  return {
    metadata: { name: 'trainer', namespace: 'team', uid: 'uid-1' },
    spec: { ssh: true, lease: { duration: '30m', by: 'SSH' } },
    status: {
      ...{ instanceId: String(rented.new_contract), actualStatus: 'running' },
      ...{ ssh: { host: '203.0.113.5', port }, lease: { since: new Date().toISOString() } },
      selfEnd: { leaseSeconds: LEASE_SECONDS, proof: 'Unproven' },
    },
  } as unknown as GpuInstance;
}

/** Starts the keeper of a lease, and collects what it prints. */
function keep(object: GpuInstance) {
  const input: KeeperInput = { object, ...market };
  const child = spawn(process.execPath, [KEEPER, JSON.stringify(input)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const views: KeeperView[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => views.push(JSON.parse(line) as KeeperView));
  return {
    views,
    renewed: () => views.filter(({ renewedAt }, at) => renewedAt !== views[at - 1]?.renewedAt).length,
    kill: () => child.kill('SIGKILL'),
  };
}

async function until(what: string, isSo: () => boolean | Promise<boolean>, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what} did not come within ${seconds} s`);
    await pause(200);
  }
}

async function exists({ status }: GpuInstance): Promise<boolean> {
  return (
    (await call('GET', `/api/v0/instances/${status?.instanceId}/`)).instances?.actual_status === 'running'
  );
}

describe.skipIf(!CAN_RUN)(
  'a lease by SSH, with processes for operator, marketplace and machine',
  { timeout: 300_000 },
  () => {
    test('ends the machine of an operator that died, and none of one that was away for less than three quarters (C01, C02)', async () => {
      const [dead, away] = [await rent(), await rent()];
      const died = keep(dead);
      const left = keep(away);
      await until('two renewals of each', () => died.renewed() >= 2 && left.renewed() >= 2, 90);
      expect(left.views.at(-1)).toMatchObject({ failures: 0, isProven: true, hostKey: expect.any(String) });
      const last = died.views.at(-1)?.renewedAt ?? '';
      died.kill();
      left.kill();

      await pause(0.6 * LEASE_SECONDS * 1_000);
      expect(await exists(away)).toBe(true);
      const { renewedAt, hostKey } = left.views.at(-1) ?? {};
      const lease = { since: renewedAt, renewedAt, hostKey };
      const back = keep({ ...away, status: { ...away.status, lease } } as GpuInstance);
      await until('a renewal after the return', () => back.renewed() >= 2, 30);

      await until('the end of the machine', async () => !(await exists(dead)), 60);
      const seconds = (Date.now() - Date.parse(last)) / 1_000;
      expect(seconds).toBeGreaterThanOrEqual(LEASE_SECONDS);
      await pause(0.6 * LEASE_SECONDS * 1_000);
      expect(await exists(away)).toBe(true);
      expect(back.views.at(-1)).toMatchObject({ failures: 0, hostKey });
      back.kill();
      await until('the end of the other machine', async () => !(await exists(away)), 120);
    });
  },
);
