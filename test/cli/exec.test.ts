import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Interrupted } from '../../src/cli/command-error.ts';
import { SSHD, type SshMachine, sshMachine } from '../builders/ssh-machine.ts';
import { until } from '../builders/until.ts';
import { type Desk, desk } from './desk.ts';

/* Programs run on a machine whose SSH server is a real one. */

describe.skipIf(SSHD === undefined)('gpu-rent exec', () => {
  let here: Desk;
  let machine: SshMachine;
  const placed = (instanceId: string, port: number, phase = 'Running') => ({
    ...{ phase, instanceId, ssh: { host: '127.0.0.1', port } },
  });

  beforeAll(async () => {
    [here, machine] = await Promise.all([desk(), sshMachine()]);
    const spec = { image: 'x', ssh: true, offers: [{ maxPricePerHour: '1' }] };
    here.put('gpuinstances', { metadata: { name: 'trainer' }, spec });
  }, 60_000);
  beforeEach(() => here.status('gpuinstances', 'trainer', placed('7', machine.port)));
  afterAll(() => Promise.all([here.close(), machine.close()]));

  const exec = (options: readonly string[], command: readonly string[], more: object = {}) =>
    here.cluster.cli.run(
      [
        ...['exec', 'gpui/trainer', '--identity', machine.identity, '--user', machine.user, ...options],
        ...['--', ...command],
      ],
      more,
    );

  test('passes the exit code, stdout and stderr on', async () => {
    const ran = await exec([], ['sh', '-c', 'echo out; echo err >&2; exit 37']);
    expect(ran).toEqual({ exitCode: 37, stdout: 'out\n', stderr: 'err\n' });
  });

  test.each([
    [['a b', "it's", '$HOME', '*', '', '"', '\\', ';reboot', '-n', 'ü→日本', 'a\nb']],
    [['--', '--identity', '$(id)', '`id`']],
  ])('gives each word to the program as it is: %j', async (words) => {
    const { stdout, exitCode } = await exec([], ['printf', '<%s>', ...words]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: words.map((word) => `<${word}>`).join('') });
  });

  test('gives stdin with -i alone', async () => {
    expect((await exec(['-i'], ['cat'], { stdin: 'from here' })).stdout).toBe('from here');
    expect((await exec([], ['cat'], { stdin: 'from here' })).stdout).toBe('');
  });

  test('runs in a terminal with -t', async () => {
    expect((await exec([], ['sh', '-c', 'test -t 1'])).exitCode).toBe(1);
    expect((await exec(['-t'], ['sh', '-c', 'test -t 1'])).exitCode).toBe(0);
    const { exitCode, stderr } = await exec(['-i', '-t'], ['sh']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('-t: stdin is no terminal.');
  });

  test('ends with Ctrl-C, and with it the connection', async () => {
    const abort = new AbortController();
    const started = join(machine.home, 'started');
    const running = exec([], ['sh', '-c', `touch ${started}; sleep 30`], { signal: abort.signal });
    await until('it runs there', () => readdirSync(machine.home).includes('started'));
    abort.abort(new Interrupted());
    expect(await running).toMatchObject({ exitCode: 130, stderr: 'Interrupted.\n' });
  });

  test('keeps the host key of each machine apart, and refuses another one at that address', async () => {
    await exec([], ['true']);
    const known = join(here.cluster.cli.home, '.cache/gpu-rent/known_hosts-team-trainer-7');
    expect(readFileSync(known, 'utf8')).toContain(' ssh-ed25519 ');
    const other = join(here.cluster.cli.home, 'other-host-key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', other]);
    writeFileSync(known, `[127.0.0.1]:${machine.port} ${readFileSync(`${other}.pub`, 'utf8')}`);
    const { exitCode, stderr } = await exec([], ['true']);
    expect(exitCode).toBe(255);
    expect(stderr).toContain('REMOTE HOST IDENTIFICATION HAS CHANGED');
    // The next machine has a file of its own.
    here.status('gpuinstances', 'trainer', placed('8', machine.port));
    expect(await exec([], ['true'])).toMatchObject({ exitCode: 0, stderr: '' });
    writeFileSync(known, '');
  });

  test('uses a folder of host keys with a space in its name', async () => {
    const env = { XDG_CACHE_HOME: join(here.cluster.cli.home, 'my cache 100%') };
    expect(await exec([], ['true'], { env })).toMatchObject({ exitCode: 0 });
    expect(readdirSync(join(env.XDG_CACHE_HOME, 'gpu-rent'))).toEqual(['known_hosts-team-trainer-7']);
  });

  test('says which machine is there now if it was replaced in between', async () => {
    const { answer } = here.cluster;
    let reads = 0;
    here.cluster.answer = (asked) => {
      reads += 1;
      if (reads === 2) here.status('gpuinstances', 'trainer', placed('8', machine.port));
      return here.stored(asked);
    };
    here.status('gpuinstances', 'trainer', placed('7', 1));
    const { exitCode, stderr } = await exec([], ['true']);
    here.cluster.answer = answer;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Connection refused');
    expect(stderr).toContain('Error: gpui/trainer runs on machine 8 now; machine 7 was replaced.');
  });

  test('says that the object is gone, or its machine stopped, if that is so by then', async () => {
    const { answer } = here.cluster;
    let reads = 0;
    here.status('gpuinstances', 'trainer', placed('7', 1));
    here.cluster.answer = (asked) => {
      reads += 1;
      if (reads === 2) here.status('gpuinstances', 'trainer', placed('7', 1, 'Stopped'));
      return here.stored(asked);
    };
    const { exitCode, stderr } = await exec([], ['true']);
    here.cluster.answer = answer;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('gpui/trainer is stopped, and nothing answers there (Stopped).');
  });

  test('ends with 255 if the machine does not answer, and shows why', async () => {
    here.status('gpuinstances', 'trainer', placed('7', 1));
    const { exitCode, stderr } = await exec([], ['true']);
    expect(exitCode).toBe(255);
    expect(stderr).toContain('Connection refused');
  });

  test.each([
    [['exec', 'gpui/trainer'], "missing required argument 'command'"],
    [['exec', 'epg/chat', '--', 'true'], 'only a GpuInstance has a shell'],
    [['exec', 'gpui/trainer', '--user', '-oProxyCommand=x', '--', 'true'], 'is not a name of a user'],
  ])('%j is refused', async (words, what) => {
    const { exitCode, stderr } = await here.cluster.cli.run(words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(what);
  });
});
