import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StartedTestContainer, Wait } from 'testcontainers';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { until } from '../builders/until.ts';
import { describeWithEngine } from '../containers/describe-with-engine.ts';
import { type OperatorContainer, WRITABLE } from '../containers/operator-container.ts';

const PORT = 8088;
const KEY = 'key-of-the-first-user';
const DATA = `${WRITABLE}/market.db`;
const READY = Wait.forLogMessage(/^\{"url":/);

describeWithEngine('a container of the image', (bench) => {
  test('prints its version when that is its command', async () => {
    const { version } = z
      .looseObject({ version: z.string() })
      .parse(JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')));
    const { code, output } = await bench().runToEnd(bench().container('version'));
    expect([code, output]).toEqual([0, expect.stringContaining(`gpu-rental-operator ${version} (Node `)]);
  });

  test('says which cluster the operator misses when it gets no command', async () => {
    const { code, output } = await bench().runToEnd(bench().container());
    expect(output).toMatch(/cluster|kubeconfig/i);
    expect(code).toBeGreaterThan(0);
  });

  test('runs as a user without rights on a root that cannot be written', async () => {
    const script = `
      const { readFileSync, writeFileSync } = require('node:fs');
      const status = readFileSync('/proc/self/status', 'utf8');
      const field = (name) => status.match(new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm'))[1];
      let refusal;
      try { writeFileSync('/app/gpu-rent.mjs', ''); } catch ({ code }) { refusal = code; }
      console.log(JSON.stringify({
        uid: process.getuid(), gid: process.getgid(), refusal,
        effective: field('CapEff'), bounding: field('CapBnd'), newPrivileges: field('NoNewPrivs'),
      }));`;
    const { code, output } = await bench().runToEnd(
      bench().container('--eval', script).withEntrypoint(bench().entrypoint.slice(0, 1)),
    );
    expect([code, JSON.parse(output)]).toEqual([
      0,
      {
        uid: 65532,
        gid: 65532,
        refusal: 'EROFS',
        effective: '0000000000000000',
        bounding: '0000000000000000',
        newPrivileges: '1',
      },
    ]);
  });

  test('ends with a report of V8 when its heap grows towards the memory limit', async () => {
    const leak = 'const kept = []; for (;;) kept.push(new Array(1e5).fill(Math.random()).map(String));';
    const nodeWithFlags = bench().entrypoint.slice(0, -1);
    const { code, isKilledForMemory, output } = await bench().runToEnd(
      bench().container('--eval', leak).withEntrypoint(nodeWithFlags),
    );
    expect(output).toContain('JavaScript heap out of memory');
    expect([isKilledForMemory, code]).toEqual([false, expect.any(Number)]);
    expect(code).toBeGreaterThan(0);
    expect(code).not.toBe(137);
  });

  describe('with the simulator', () => {
    const simulator = (...flags: readonly string[]): OperatorContainer =>
      bench()
        .container(
          ...['simulator', '--port', String(PORT), '--bind-address', '0.0.0.0', '--api-key', KEY],
          ...['--data', DATA, '--seed', '42', '--boot-scale', '0.02', '--no-rate-limits', ...flags],
        )
        .withExposedPorts(PORT)
        .withWaitStrategy(READY);
    /** Returns the address of a container: the engine maps another port each time it starts. */
    const addressOf = async (one: StartedTestContainer): Promise<string> => {
      const { NetworkSettings } = await bench().inspect(one);
      return `${one.getHost()}:${NetworkSettings.Ports[`${PORT}/tcp`]?.[0]?.HostPort}`;
    };
    const call = async (one: StartedTestContainer, method: string, path: string, body?: object) => {
      const response = await fetch(`http://${await addressOf(one)}/api/v0${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    };
    const rented = z.object({ new_contract: z.number() });
    const instances = z.object({ instances: z.array(z.looseObject({ id: z.number() })) });
    const rent = async (one: StartedTestContainer): Promise<number> => {
      const offers = z.object({ offers: z.array(z.looseObject({ id: z.number() })) });
      const found = offers.parse((await call(one, 'POST', '/bundles/', { limit: 1 })).body);
      const reply = await call(one, 'PUT', `/asks/${found.offers[0]?.id}/`, {
        image: 'ubuntu:24.04',
        disk: 10,
      });
      return rented.parse(reply.body).new_contract;
    };
    const machinesOf = async (one: StartedTestContainer): Promise<number[]> =>
      instances.parse((await call(one, 'GET', '/instances/')).body).instances.map(({ id }) => id);

    test('answers on a mapped port and ends with 0 when it is asked to', async () => {
      const started = await simulator().start();
      expect((await call(started, 'GET', '/users/current/')).status).toBe(200);
      expect(await bench().stop(started, 10_000)).toMatchObject({ code: 0, isKilledForMemory: false });
    });

    test('is not started again by on-failure when it was asked to end', async () => {
      const started = await simulator().withRestartPolicy('on-failure').start();
      await bench().kill(started, 'SIGTERM');
      await bench().untilEnded(started);
      const { State, RestartCount } = await bench().inspect(started);
      expect([State.Status, State.ExitCode, RestartCount]).toEqual(['exited', 0, 0]);
    });

    test.for(['is restarted', 'is killed and started again'] as const)(
      'has its machines and keys still when it %s',
      async (how) => {
        const started = await simulator().start();
        const machine = await rent(started);
        if (how === 'is killed and started again') await bench().kill(started, 'SIGKILL');
        await started.restart({ timeout: 10_000 });
        expect(await machinesOf(started)).toEqual([machine]);
        await started.stop();
      },
    );

    test('is started again by on-failure until no other process has its file', async () => {
      const first = await simulator().start();
      const machine = await rent(first);
      const second = await simulator()
        .withVolumeOf(first.getId())
        .withRestartPolicy('on-failure')
        .withWaitStrategy(Wait.forLogMessage(/market\.db/))
        .start();
      await until('it has been started again', async () => (await bench().inspect(second)).RestartCount > 0);
      await bench().stop(first, 10_000);
      await until('it serves', () => serves(second));
      expect(await machinesOf(second)).toEqual([machine]);
      await second.stop();
    });

    const serves = (one: StartedTestContainer): Promise<boolean> =>
      call(one, 'GET', '/users/current/').then(
        ({ status }) => status === 200,
        () => false,
      );
  });
});
