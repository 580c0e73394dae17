import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { Interrupted } from '../../src/cli/command-error.ts';
import { until } from '../builders/until.ts';
import { useSharedBench } from '../integration/gpu-instance-bench.ts';
import { type ClusterPerson, clusterPerson } from './cluster.ts';
import type { Ran, RunOptions } from './command-line.ts';

/* `gpu-rent run` against a real API server, with the operator running. */

const shared = useSharedBench();
let person: ClusterPerson;
beforeAll(async () => {
  person = await clusterPerson(shared());
});
afterAll(() => person.leave());

const run = (args: readonly string[], options?: RunOptions): Promise<Ran> =>
  person.cli.run(['-n', shared().namespace, '--url', person.url, 'run', ...args], options);
const existing = async (): Promise<readonly string[]> => {
  const { kube, namespace } = shared();
  const { items } = await kube.list<GpuInstance>(gpuInstanceResource, { namespace });
  return items.map(({ metadata }) => metadata.name);
};
/** Arguments for any GPU, because the test's market has few of each. */
const MACHINE = ['--image', 'ubuntu:24.04', '--max-price', '2'] as const;

describe('run', () => {
  test('prints a manifest with --dry-run, which the API server takes, and creates nothing', async () => {
    const { exitCode, stdout } = await run([
      ...MACHINE,
      ...['--count', '2', '--disk', '64G', '--env', 'A=b=c', '--max-cost', '5', '--name', 'dry', '--dry-run'],
    ]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('kind: GpuInstance');
    const planned = await person.cli.run(['-n', shared().namespace, 'plan', '-f', '-', '--url', person.url], {
      stdin: stdout,
    });
    expect(planned.stdout).toContain('the API server would take it');
    expect(await existing()).not.toContain('dry');
  });

  test('asks for nothing, and rents nothing, without a terminal and without --yes', async () => {
    const { exitCode, stderr } = await run([...MACHINE, '--name', 'unasked']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/would rent offer \d+: 1 × \w.*, .*\$0\.\d{2,6}\/h/);
    expect(stderr).toContain('Give --yes.');
    expect(await existing()).not.toContain('unasked');
  });

  test('rents after yes, waits until it is ready, and says how to end it', async () => {
    const { exitCode, stdout, stderr } = await run([...MACHINE, '--name', 'runner', '--yes']);
    expect(stderr).toContain('gpui/runner created. This ends it and its bill: kubectl delete gpui runner');
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'gpui/runner is ready\n' });
    const again = await run([...MACHINE, '--name', 'runner', '--yes']);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain('gpui/runner already exists; nothing was changed.');
  });

  test('deletes the object at the end with --rm', async () => {
    const { exitCode, stderr } = await run([...MACHINE, '--name', 'once', '--yes', '--rm']);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('gpui/once is deleted');
    await until('it is gone', async () => !(await existing()).includes('once'));
  });

  test('says what stays after Ctrl-C, and deletes it with --rm all the same', async () => {
    for (const more of [[], ['--rm']]) {
      const name = `left${more.length}`;
      const abort = new AbortController();
      const running = run(['--image', 'ubuntu:24.04', '--name', name, '--max-price', '2', '--yes', ...more], {
        signal: abort.signal,
      });
      await until('it is created', async () => (await existing()).includes(name));
      abort.abort(new Interrupted());
      const { exitCode, stderr } = await running;
      expect(exitCode).toBe(130);
      if (more.length === 0) expect(stderr).toContain(`gpui/${name} stays, and bills once it is rented.`);
      else await until('it is gone', async () => !(await existing()).includes(name));
    }
  });

  test('prints the name of a detached run and how to follow and end it, and returns at once', async () => {
    const { exitCode, stdout, stderr } = await run([
      ...[...MACHINE, '--name', 'apart', '--yes', '--detach', '--', 'python', 'train.py'],
    ]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'gpui/apart\n' });
    expect(stderr).toContain(`gpu-rent run --follow --name apart -n ${shared().namespace}`);
    expect(stderr).toContain(`kubectl delete gpui apart -n ${shared().namespace}`);
  });

  test('asks after Ctrl-C while it follows, and leaves the run or ends it', async () => {
    const follow = () =>
      person.cli.atTerminal(
        ['-n', shared().namespace, 'run', '--name', 'apart', '--follow'].concat(['--url', person.url]),
      );
    const first = follow();
    await first.until('gpui/apart Running');
    first.interrupt();
    await first.until('or end it? [leave/end]');
    first.type('leave');
    expect(await first.ended).toBe(130);
    expect(first.shown()).toMatch(
      /gpui\/apart goes on: machine \d+ bills \$[\d.]+\/h until its program ends/,
    );
    expect(first.shown()).not.toContain('gpurental ');
    const second = follow();
    await second.until('gpui/apart Running');
    second.interrupt();
    await second.until('or end it? [leave/end]');
    second.type('end');
    expect(await second.ended).toBe(130);
    expect(second.shown()).toContain('gpui/apart Cancelled');
    expect(await existing()).toContain('apart');
  });

  test('refuses a name that exists, so that two at once create one run', async () => {
    const both = await Promise.all(
      [1, 2].map(() => run([...MACHINE, '--name', 'twice', '--yes', '--detach', '--', 'true'])),
    );
    expect(both.map(({ exitCode }) => exitCode).toSorted()).toEqual([0, 1]);
    expect(both.map(({ stderr }) => stderr).join('')).toContain('gpui/twice already exists');
  });

  test('follows no object that is no run', async () => {
    const { exitCode, stderr } = await run(['--follow', '--name', 'runner']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('gpui/runner is no run.');
  });

  test.each([
    [['--gpu', 'rtx4090', '--image', 'x', '--max-price', '2'], 'did you mean RTX 4090?'],
    [['--image', 'x', '--max-price', '0.01'], 'The cheapest costs $0.'],
    [['--gpu', 'RTX 4090', '--max-price', '2'], '--image is missing.'],
    [['--image', 'x', '--max-price', 'cheap'], '--max-price: "cheap" is not an amount of dollars'],
    [['--image', 'x', '--max-price', '2', '--env', 'nothing'], '--env: "nothing" is not NAME=VALUE.'],
    [['--image', 'x', '--max-price', '2', '--disk', 'much'], 'disk'],
    [['--image', 'x', '--max-price', '2', '--name', 'Not_A_Name'], 'name'],
  ])('refuses %j and creates nothing', async (args, words) => {
    const before = await existing();
    const { exitCode, stderr } = await run([...args, '--yes']);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(words);
    expect(await existing()).toEqual(before);
  });
});
