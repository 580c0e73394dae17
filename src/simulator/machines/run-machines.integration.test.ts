import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import type { Listening } from '../http-server.ts';
import type { SettingsOverride } from '../settings.ts';
import { createSimulator } from '../simulator.ts';
import type { RunOptions } from './run-machines.ts';

const HAS_PROC = existsSync('/proc/self/stat');
let listening: Listening | undefined;
afterEach(async () => {
  await listening?.close();
  listening = undefined;
});

interface Given {
  readonly settings?: SettingsOverride;
  readonly run?: Partial<RunOptions>;
}

/** Returns a market whose machines run as processes, and calls to it. */
async function market({ settings = {}, run = {} }: Given = {}) {
  const reports: string[] = [];
  const simulator = createSimulator({
    apiKey: 'k',
    catalog: [{ id: 1 }, { id: 2 }, { id: 3 }],
    runMachines: { max: 2, report: (text) => reports.push(text), ...run },
    settings: {
      ...settings,
      pauses: { scale: 0 },
      boot: { scale: 0 },
      containers: { stopGraceSeconds: 0.3, ...settings.containers },
    },
  });
  listening = await simulator.listen();
  const { url } = listening;
  const call = async (spec: string, body?: object, key = 'k') => {
    const [method = '', path = ''] = spec.split(' ');
    const reply = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    // oxlint-disable-next-line typescript/no-explicit-any -- replies are read by name
    return { status: reply.status, body: (await reply.json()) as any };
  };
  const textAt = async (result: string): Promise<string> => (await fetch(result)).text();
  const rent = async (body: object, offer = 1) => {
    const rented = await call(`PUT /api/v0/asks/${offer}/`, { image: 'x', disk: 10, ...body });
    const id: number = rented.body.new_contract;
    const path = `/api/v0/instances/${id}/`;
    return {
      id,
      path,
      rented,
      log: async () => textAt((await call(`PUT /api/v0/instances/request_logs/${id}/`, {})).body.result_url),
      run: async (command: string) =>
        textAt((await call(`PUT /api/v0/instances/command/${id}/`, { command })).body.result_url),
      status: async () => (await call(`GET ${path}`)).body.instances?.actual_status,
      set: (state: string) => call(`PUT ${path}`, { state }),
      destroy: () => call(`DELETE ${path}`, {}),
    };
  };
  return { simulator, call, rent, url, reports };
}

const folders = (): readonly string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('gpu-rent-machines-'));

/** Returns the processes of this computer whose command line has the mark. */
const processesWith = (mark: string): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });

const shell = (text: string) => ({ runtype: 'args', onstart: 'sh', args: ['-c', text] });
const WAIT = { timeout: 10_000, interval: 50 };

describe.each([false, true])('a machine as a process, without namespaces: %s', (withoutNamespaces) => {
  const open = (given: Given = {}) => market({ ...given, run: { withoutNamespaces, ...given.run } });

  test('has its variables, and a log of stdout and stderr', async () => {
    const { rent } = await open();
    const { id, log, rented } = await rent({
      env: { A: 'b c', '-p 80:80': '1' },
      ...shell('echo "$A $CONTAINER_ID $CONTAINER_API_KEY"; echo wrong >&2; sleep 100'),
    });
    await expect.poll(log, WAIT).toBe(`b c ${id} ${rented.body.instance_api_key}\nwrong\n`);
  });

  test('is exited when its first process ends, whatever else runs, and starts again on request', async () => {
    const { rent } = await open();
    const machine = await rent(shell('echo run >> "$HOME/runs"; sleep 4711 & exit 3'));
    await expect.poll(machine.status, WAIT).toBe('exited');
    if (HAS_PROC) await expect.poll(() => processesWith('4711'), WAIT).toEqual([]);
    await machine.set('running');
    await expect.poll(() => machine.run('du -a root/runs'), WAIT).toBe('4\troot/runs\n');
    await expect.poll(machine.status, WAIT).toBe('exited');
  });

  test('starts again by itself when containers.exitedRestarts is on', async () => {
    const { rent } = await open({ settings: { containers: { exitedRestarts: true } } });
    const machine = await rent(shell('echo start; exit 1'));
    await expect.poll(async () => (await machine.log()).split('start').length > 2, WAIT).toBe(true);
  });

  test('goes on in SSH mode after its start script, and keeps its disk over stop and start', async () => {
    const { rent } = await open();
    const machine = await rent({ onstart: 'date >> "$HOME/started"; echo done' });
    await expect.poll(machine.log, WAIT).toContain('done');
    expect(await machine.status()).toBe('running');
    await machine.set('stopped');
    expect(await machine.run('ls root')).toContain('started');
    await machine.set('running');
    await expect.poll(async () => (await machine.log()).split('done').length - 1, WAIT).toBe(2);
    await machine.destroy();
    expect(await machine.status()).toBeUndefined();
  });

  test('gets SIGTERM at a stop, and SIGKILL after the grace', async () => {
    const { rent } = await open();
    const polite = await rent(shell('trap "echo saved; exit 0" TERM; echo up; while :; do sleep 0.05; done'));
    const stubborn = await rent(shell('trap "" TERM; echo up; while :; do sleep 0.0815; done'), 2);
    for (const { log } of [polite, stubborn]) await expect.poll(log, WAIT).toContain('up');
    await polite.set('stopped');
    await expect.poll(polite.log, WAIT).toContain('saved');
    await stubborn.set('stopped');
    if (HAS_PROC) await expect.poll(() => processesWith('0.0815'), WAIT).toEqual([]);
    expect(await stubborn.status()).toBe('stopped');
  });

  test('ends with the simulator, and leaves no folder', async () => {
    const before = folders();
    const { rent } = await open();
    const machine = await rent({ onstart: 'echo up; sleep 4713 & sleep 4713' });
    await expect.poll(machine.log, WAIT).toContain('up');
    await listening?.close();
    if (HAS_PROC) expect(processesWith('4713')).toEqual([]);
    expect(folders()).toEqual(before);
  });

  test('has the public keys of the account and its own, as they change, and follows no link to them', async () => {
    const { rent, call } = await open();
    const key = (name: string) => ({ ssh_key: `ssh-ed25519 ${'A'.repeat(68)} ${name}` });
    await call('POST /api/v0/ssh/', key('account'));
    const machine = await rent({
      runtype: 'ssh',
      onstart: 'while :; do cat "$HOME/.ssh/authorized_keys"; echo end; sleep 0.2; done',
    });
    await expect.poll(machine.log, WAIT).toMatch(/^ssh-ed25519 A+ account\nend\n/m);
    await call(`POST /api/v0/instances/${machine.id}/ssh/`, key('own'));
    await expect.poll(machine.log, WAIT).toMatch(/ account\nssh-ed25519 A+ own\nend\n/);
    const linked = await rent(
      { runtype: 'ssh', onstart: 'rm -rf "$HOME/.ssh"; ln -s "$TMPDIR" "$HOME/.ssh"; echo linked' },
      2,
    );
    await expect.poll(linked.log, WAIT).toContain('linked');
    await call(`POST /api/v0/instances/${linked.id}/ssh/`, key('own'));
    expect(await linked.run('ls /tmp')).not.toContain('authorized_keys');
  });

  test('has a new disk after a recycle, and none after its end', async () => {
    const { rent, call } = await open();
    const machine = await rent(shell('echo x > "$HOME/kept"; echo up; sleep 100'));
    await expect.poll(machine.log, WAIT).toContain('up');
    await machine.run('rm root/kept');
    expect(await machine.run('ls root')).not.toContain('kept');
    await call(`PUT /api/v0/instances/recycle/${machine.id}/`, {});
    await expect.poll(() => machine.run('ls root'), WAIT).toContain('kept');
  });

  test('whose program is missing is exited', async () => {
    const { rent } = await open();
    const machine = await rent({ runtype: 'args', image: 'ollama/ollama' });
    await expect.poll(machine.status, WAIT).toBe('exited');
    expect(await machine.log()).toContain('/bin/ollama');
  });

  test('ends its own bill with its own key', async () => {
    const { rent, url, simulator } = await open();
    const machine = await rent({
      onstart: `curl -sX DELETE -H "Authorization: Bearer $CONTAINER_API_KEY" ${url}/api/v0/instances/$CONTAINER_ID/`,
    });
    await expect.poll(machine.status, WAIT).toBeUndefined();
    expect(simulator.world().tables.contracts).toEqual({});
  });

  test('hides what onstart prints when containers.onstartInLog is off', async () => {
    const { rent } = await open({ settings: { containers: { onstartInLog: false } } });
    const machine = await rent({ onstart: 'echo secret; echo up > "$HOME/up"' });
    await expect.poll(() => machine.run('ls root'), WAIT).toContain('up');
    expect(await machine.log()).not.toContain('secret');
    expect(await machine.run('ls root')).toContain('onstart.log');
  });

  test('is not started above the maximum, and the report says why', async () => {
    const { rent, reports } = await open({ run: { max: 1 } });
    const first = await rent(shell('echo up; sleep 100'));
    await expect.poll(first.log, WAIT).toContain('up');
    const second = await rent(shell('echo up; sleep 100'), 2);
    await expect
      .poll(() => reports.at(-1), WAIT)
      .toContain(`Machine ${second.id} is not started: 1 machines`);
    await first.destroy();
    await expect.poll(second.log, WAIT).toContain('up');
  });
});

// A computer that permits no namespaces says so in the report, and the tests above hold.
const CAN_ISOLATE =
  process.platform === 'linux' && spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']).status === 0;

test.runIf(CAN_ISOLATE)('a machine has /root, /tmp, /var/tmp and /proc of its own', async () => {
  const { rent, reports } = await market();
  const mark = `mark-${process.pid}`;
  const text = `touch /tmp/${mark} /var/tmp/${mark} /root/${mark}; echo "pid $$"; echo /proc/[0-9]*; sleep 100`;
  const machine = await rent(shell(text));
  await expect.poll(machine.log, WAIT).toBe('pid 1\n/proc/1\n');
  for (const folder of ['tmp', 'var/tmp', 'root']) {
    expect(await machine.run(`ls ${folder}`)).toContain(mark);
    expect(existsSync(`/${folder}/${mark}`)).toBe(false);
  }
  expect(reports).toEqual([]);
});

test.runIf(CAN_ISOLATE)('a program writes to the log of its container by /proc/1/fd/1', async () => {
  const { rent } = await market({ settings: { containers: { onstartInLog: false } } });
  const machine = await rent({ onstart: 'echo hidden; echo one >/proc/1/fd/1; echo two >>/proc/1/fd/1' });
  await expect.poll(machine.log, WAIT).toBe('simulated entrypoint: script\none\ntwo\n');
});

test.runIf(CAN_ISOLATE)(
  'no process outlives the first one of its machine, not even in its own session',
  async () => {
    const { rent } = await market();
    const machine = await rent(shell('setsid sleep 4717 & sleep 1; exit 0'));
    await expect.poll(() => processesWith('4717').length, WAIT).toBeGreaterThan(0);
    await expect.poll(machine.status, WAIT).toBe('exited');
    await expect.poll(() => processesWith('4717'), WAIT).toEqual([]);
  },
);

test('the command door follows no link out of a machine', async () => {
  const { rent } = await market();
  const machine = await rent(
    shell('ln -s /etc "$HOME/link"; ln -s /etc/passwd "$HOME/file"; echo up; sleep 9'),
  );
  await expect.poll(machine.log, WAIT).toContain('up');
  expect(await machine.run('ls root/link')).toBe('root/link\n');
  expect(await machine.run('ls root/link/passwd')).toContain('No such file');
  await machine.run('rm -rf root/link root/file root/link/passwd');
  expect(existsSync('/etc/passwd')).toBe(true);
  expect(await machine.run('ls root')).not.toContain('link');
});
