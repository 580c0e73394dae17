import { createServer } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Interrupted } from '../../src/cli/command-error.ts';
import { SSHD, type SshMachine, sshMachine } from '../builders/ssh-machine.ts';
import { until } from '../builders/until.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { type Desk, desk } from './desk.ts';

/* Ports are led through a real SSH server, whose machine is this one. */

describe.skipIf(SSHD === undefined)('gpu-rent port-forward', () => {
  let here: Desk;
  let machine: SshMachine;
  const served = createServer((request, response) => response.end(`page ${request.url}`));
  let remote = 0;

  beforeAll(async () => {
    [here, machine] = await Promise.all([desk(), sshMachine()]);
    const spec = { image: 'x', ssh: true, offers: [{ maxPricePerHour: '1' }] };
    here.put('gpuinstances', { metadata: { name: 'trainer' }, spec });
    remote = await findFreePort();
    await new Promise<void>((resolve) => void served.listen(remote, '127.0.0.1', resolve));
  }, 60_000);
  beforeEach(() => {
    const ssh = { host: '127.0.0.1', port: machine.port };
    here.status('gpuinstances', 'trainer', { phase: 'Running', instanceId: '7', ssh });
  });
  afterAll(async () => {
    served.close();
    await Promise.all([here.close(), machine.close()]);
  });

  const start = (ports: readonly string[], signal?: AbortSignal) =>
    here.cluster.cli.run(
      ['port-forward', 'gpui/trainer', ...ports, '--identity', machine.identity, '--user', machine.user],
      signal && { signal },
    );
  const isOpen = (port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });

  test('leads several ports to the machine, many connections at once, until Ctrl-C', async () => {
    const [one, other] = [await findFreePort(), await findFreePort()];
    const abort = new AbortController();
    const running = start([`${one}:${remote}`, `${other}:${remote}`], abort.signal);
    await until('it listens', async () => (await isOpen(one)) && (await isOpen(other)));
    const pages = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const reply = await fetch(`http://127.0.0.1:${at % 2 === 0 ? one : other}/${at}`);
        return reply.text();
      }),
    );
    expect(pages).toEqual(Array.from({ length: 20 }, (_, at) => `page /${at}`));
    abort.abort(new Interrupted());
    const { exitCode, stdout } = await running;
    expect(exitCode).toBe(130);
    expect(stdout).toBe(
      [one, other].map((port) => `Forwarding 127.0.0.1:${port} to port ${remote} of gpui/trainer\n`).join(''),
    );
    await until('no port is left open', async () => !(await isOpen(one)));
  });

  test('reports a connection to a port at which nothing listens, and forwards the next one', async () => {
    const [local, closed, good] = [await findFreePort(), await findFreePort(), await findFreePort()];
    const abort = new AbortController();
    const running = start([`${local}:${closed}`, `${good}:${remote}`], abort.signal);
    await until('it listens', async () => (await isOpen(local)) && (await isOpen(good)));
    await expect(fetch(`http://127.0.0.1:${local}/`)).rejects.toThrow();
    expect(await (await fetch(`http://127.0.0.1:${good}/still`)).text()).toBe('page /still');
    abort.abort(new Interrupted());
    const { stderr } = await running;
    expect(stderr).toMatch(/open failed: connect failed: Connection refused/);
    expect(stderr).not.toMatch(/Authenticated|debug/);
  });

  test('fails at once where a local port is taken', async () => {
    const { exitCode, stdout, stderr } = await start([`${remote}:80`]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 255, stdout: '' });
    expect(stderr).toMatch(/cannot listen to port|Address already in use/);
  });

  test('says which machine is there now if it was replaced meanwhile', async () => {
    const local = await findFreePort();
    const running = start([`${local}:${remote}`]);
    await until('it listens', () => isOpen(local));
    const ssh = { host: '127.0.0.1', port: machine.port };
    here.status('gpuinstances', 'trainer', { phase: 'Running', instanceId: '8', ssh });
    machine.relay.cut();
    const { exitCode, stderr } = await running;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('gpui/trainer runs on machine 8 now; machine 7 was replaced.');
  });

  test.each(['x', '0', '80:', ':80', '8080:70000', '1:2:3'])(
    'refuses %s with what to write',
    async (text) => {
      const { exitCode, stderr } = await start([text]);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(`"${text}" is not a pair of ports.`);
      expect(stderr).toContain('LOCAL:REMOTE');
    },
  );

  test('refuses an address that ssh would read otherwise', async () => {
    const { exitCode, stderr } = await start(['80', '--address', '-oProxyCommand=id']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('--address');
  });
});
