import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SSHD, type SshMachine, sshMachine } from '../builders/ssh-machine.ts';
import { type Desk, desk } from './desk.ts';

/* The file is read by the ssh of this machine, which reaches a real SSH server by it. */

describe.skipIf(SSHD === undefined)('gpu-rent ssh-config', () => {
  let here: Desk;
  let machine: SshMachine;
  const spec = { image: 'x', ssh: true, offers: [{ maxPricePerHour: '1' }] };
  const at = (instanceId: string) => ({
    ...{ phase: 'Running', instanceId, ssh: { host: '127.0.0.1', port: machine.port } },
  });

  beforeAll(async () => {
    [here, machine] = await Promise.all([desk(), sshMachine()]);
    here.put('gpuinstances', { metadata: { name: 'trainer' }, spec });
    here.put('gpuinstances', { metadata: { name: 'waiting' }, spec });
  }, 60_000);
  beforeEach(() => here.status('gpuinstances', 'trainer', at('7')));
  afterAll(() => Promise.all([here.close(), machine.close()]));

  const run = (...args: readonly string[]) =>
    here.cluster.cli.run(['ssh-config', '--identity', machine.identity, '--user', machine.user, ...args]);
  const ssh = async (config: string, host: string) =>
    (await promisify(execFile)('ssh', ['-F', config, host, 'echo reached'])).stdout;

  test('writes a file by which ssh reaches the machine under both names, and leaves ~/.ssh/config alone', async () => {
    const folder = join(here.cluster.cli.home, '.ssh');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config'), 'Host mine\n');
    const { exitCode, stdout } = await run('--write');
    const file = join(folder, 'gpu-rent.config');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`1 of 2 machines are in ${file}.`);
    expect(stdout).toContain('Include gpu-rent.config');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, 'config'), 'utf8')).toBe('Host mine\n');
    for (const host of ['trainer', 'trainer.team']) expect(await ssh(file, host)).toBe('reached\n');
    expect(existsSync(`${file}.new`)).toBe(false);
  });

  test('names objects without a machine in a comment, and drops a machine that is gone', async () => {
    const { stdout } = await run();
    expect(stdout).toContain('Host trainer.team trainer\n');
    expect(stdout).toMatch(/^# waiting\.team: gpui\/waiting has no machine/m);
    here.status('gpuinstances', 'trainer', { phase: 'Pending' });
    expect((await run()).stdout).not.toContain('Host ');
  });

  test('has no short name for machines of other namespaces', async () => {
    const { stdout } = await run('-A');
    expect(stdout).toContain('Host trainer.team trainer\n');
    const elsewhere = await here.cluster.cli.run(['ssh-config', '-A', '-n', 'other']);
    expect(elsewhere.stdout).toContain('Host trainer.team\n');
  });

  test('fails for a named object that has no machine, with what to do', async () => {
    const { exitCode, stdout, stderr } = await run('gpui/waiting');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('What to do: Wait for it: gpu-rent wait gpui/waiting');
  });

  test('writes no line of its own for what a marketplace calls a host', async () => {
    const host = '127.0.0.1\n  ProxyCommand touch pwned';
    here.status('gpuinstances', 'trainer', { ...at('7'), ssh: { host, port: 22 } });
    const { stdout } = await run();
    expect(stdout).not.toMatch(/^\s*ProxyCommand/m);
    expect(stdout).toMatch(/^# trainer\.team: .*is not a host that ssh may be given/m);
  });

  test('says what to do where the file cannot be written', async () => {
    const { exitCode, stderr } = await run('--write', '/nowhere/at/all');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('/nowhere/at/all cannot be written (ENOENT).');
  });
});
