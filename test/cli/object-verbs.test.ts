import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { annotations, labels } from '../../src/api/v1alpha1/names.ts';
import { Interrupted } from '../../src/cli/command-error.ts';
import { type Desk, desk } from './desk.ts';

/* Commands that change objects by one word, and what they refuse. */

const GROUP = '/apis/gpurental.dev/v1alpha1/namespaces/team';
const spec = { image: 'x', offers: [{ maxPricePerHour: '1' }] };
const status = {
  ...{ phase: 'Running', instanceId: '4711', rentedAt: '2026-11-20T10:00:00Z' },
  ...{ gpu: { name: 'RTX 4090', count: 1 }, cost: { pricePerHour: '0.42', accrued: '0' } },
};

let here: Desk;
beforeAll(async () => {
  here = await desk();
  here.account('default');
  const group = { ...spec, adopt: undefined };
  here.put('endpointgroups', { metadata: { name: 'chat' }, spec: { template: { spec: group } } });
  here.put('gpuinstances', { metadata: { name: 'trainer' }, spec, status });
  here.put('gpuinstances', { metadata: { name: 'tester' }, spec, status: { ...status, instanceId: '4712' } });
  here.put('gpuinstances', { metadata: { name: 'new' }, spec });
  here.put('gpuinstances', {
    metadata: { name: 'stopped' },
    spec: { ...spec, powerState: 'Stopped' },
    status: { ...status, phase: 'Stopped' },
  });
  here.put('gpuinstances', {
    metadata: { name: 'held', annotations: { [annotations.hold]: 'true' } },
    ...{ spec, status },
  });
  here.put('gpuinstances', { metadata: { name: 'paused' }, spec: { ...spec, paused: true }, status });
  here.put('gpuinstances', {
    metadata: { name: 'seen' },
    spec: { adopt: { instanceId: '9', policy: 'Observe' } },
    status: { ...status, instanceId: '9' },
  });
  here.put('gpuinstances', {
    metadata: { name: 'chat-a', labels: { [labels.endpointGroup]: 'chat' } },
    ...{ spec, status },
  });
});
beforeEach(() => {
  here.cluster.asked.length = 0;
  here.cluster.answer = here.stored;
});
afterAll(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));
/** Returns the writes, by object. */
const writes = () =>
  here.cluster.asked
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path, body }) => [method, path.replace(`${GROUP}/`, ''), body]);

describe('stop and start', () => {
  test('set powerState of each object, and change nothing that is so already', async () => {
    expect(await gpuRent('stop gpui/tester')).toEqual({
      ...{ exitCode: 0, stderr: '' },
      stdout: 'gpui/tester powerState set to Stopped\n',
    });
    expect(writes()).toMatchObject([['PATCH', 'gpuinstances/tester', { spec: { powerState: 'Stopped' } }]]);
    here.cluster.asked.length = 0;
    expect(await gpuRent('stop tester stopped')).toMatchObject({
      stdout: 'gpui/tester powerState is Stopped\ngpui/stopped powerState is Stopped\n',
    });
    expect(writes()).toEqual([]);
    expect(await gpuRent('start gpui/tester')).toMatchObject({ exitCode: 0 });
    expect(writes()).toMatchObject([['PATCH', 'gpuinstances/tester', { spec: { powerState: 'Running' } }]]);
  });

  test.each([
    ['stop seen', 'gpui/seen only observes machine 9', 'gpu-rent stop instance 9'],
    ['start chat-a', 'gpui/chat-a is a worker of epg/chat', 'gpu-rent wake epg/chat'],
    ['stop chat-a', 'gpui/chat-a is a worker of epg/chat', 'gpu-rent pause epg/chat'],
  ])('%s is refused with the command to use instead', async (line, what, remedy) => {
    const { exitCode, stderr } = await gpuRent(line);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(what);
    expect(stderr).toContain(remedy);
    expect(writes()).toEqual([]);
  });

  test('change nothing if a later object is refused or absent', async () => {
    expect(await gpuRent('stop gpui/trainer gpui/chat-a')).toMatchObject({ exitCode: 1, stdout: '' });
    expect(await gpuRent('stop gpui/trainer gpui/absent')).toMatchObject({ exitCode: 3, stdout: '' });
    expect(writes()).toEqual([]);
  });

  test('leave ids of machines to the commands of the marketplace', async () => {
    expect(await gpuRent('stop 4711')).toMatchObject({ exitCode: 2 });
    const machine = await here.labelledMachine('someone');
    expect((await gpuRent(`stop instance ${machine}`)).stderr).toContain('belongs to an operator');
    expect(writes()).toEqual([]);
  });
});

describe('replace', () => {
  test('without a terminal and --yes does nothing, and says so', async () => {
    const { exitCode, stdout, stderr } = await gpuRent('replace gpui/trainer');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(
      'Replace gpui/trainer (machine 4711, RTX 4090, $0.42/h)? Everything on its disk is lost.',
    );
    expect(stderr).toContain('What to do: Give --yes.');
    expect(writes()).toEqual([]);
  });

  test('at a terminal asks, and a no changes nothing', async () => {
    const terminal = here.cluster.cli.atTerminal(['replace', 'gpui', 'trainer', 'tester']);
    await terminal.until('Everything on their disks is lost. [y/N]');
    terminal.type('n');
    expect(await terminal.ended).toBe(1);
    expect(writes()).toEqual([]);
  });

  test('asks for a time at which only the present machine had been rented', async () => {
    expect(await gpuRent('replace gpui/trainer --yes')).toMatchObject({
      ...{ exitCode: 0, stdout: 'gpui/trainer machine 4711 will be replaced\n' },
    });
    const at = { [annotations.replaceAt]: '2026-11-20T10:00:01Z' };
    expect(writes()).toMatchObject([['PATCH', 'gpuinstances/trainer', { metadata: { annotations: at } }]]);
  });

  test('names the object that was read: one that took its name is refused by its uid', async () => {
    await gpuRent('replace gpui/trainer --yes');
    const [[, , body] = []] = writes();
    expect(body).toMatchObject({ metadata: { uid: expect.stringMatching(/./) } });
  });

  test.each([
    ['new', 'gpui/new has no machine', 'gpu-rent status gpui/new'],
    ['held', 'gpui/held is on hold', 'gpu-rent hold gpui/held --release'],
    ['paused', 'gpui/paused is paused', 'gpu-rent resume gpui/paused'],
    ['seen', 'gpui/seen only observes machine 9', 'gpu-rent destroy instance 9'],
  ])('of %s is refused, since it would have no effect', async (name, what, remedy) => {
    const { exitCode, stderr } = await gpuRent(`replace gpui/${name} --yes`);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(what);
    expect(stderr).toContain(remedy);
    expect(writes()).toEqual([]);
  });
});

describe('restart', () => {
  test('restarts the container of the machine with the key of its account', async () => {
    const machine = await here.labelledMachine('restarted');
    here.put('gpuinstances', {
      metadata: { name: 'restarted' },
      spec,
      status: { ...status, instanceId: String(machine) },
    });
    here.market.service.advance(600);
    here.market.service.advance(600);
    const { exitCode, stdout, stderr } = await gpuRent('restart gpui/restarted');
    expect({ exitCode, stdout, stderr }).toEqual({
      ...{ exitCode: 0, stderr: '' },
      stdout: `gpui/restarted restarted (machine ${machine})\n`,
    });
    const { body } = await here.market.service.call(`GET /api/v0/instances/${machine}/`, {});
    expect(body.instances).toMatchObject({ actual_status: 'rebooting' });
    expect(writes()).toEqual([]);
  });

  test.each([
    ['stopped', 'gpui/stopped is stopped', 'gpu-rent start gpui/stopped'],
    ['new', 'gpui/new has no machine', 'gpu-rent status gpui/new'],
  ])('of %s is refused with what to do', async (name, what, remedy) => {
    const { exitCode, stderr } = await gpuRent(`restart ${name}`);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(what);
    expect(stderr).toContain(remedy);
  });
});

test('hold says that the fuse of the machine still ends it (C14)', async () => {
  const selfEnd = { lifeSeconds: 4_200, proof: 'Proven' };
  here.put('gpuinstances', { metadata: { name: 'fused' }, spec, status: { ...status, selfEnd } });
  expect(await gpuRent('hold fused')).toMatchObject({
    stdout: 'gpui/fused on hold; machine 4711 still ends itself after 1h10m of running\n',
  });
});

test('hold sets its annotation, and --release removes it', async () => {
  expect(await gpuRent('hold trainer')).toMatchObject({
    stdout: expect.stringMatching(/^gpui\/trainer on hold\b/),
  });
  expect(await gpuRent('hold trainer --release')).toMatchObject({ stdout: 'gpui/trainer released\n' });
  const held = (value: string | null) => ({ metadata: { annotations: { [annotations.hold]: value } } });
  expect(writes()).toMatchObject([
    ['PATCH', 'gpuinstances/trainer', held('true')],
    ['PATCH', 'gpuinstances/trainer', held(null)],
  ]);
});

test('wake asks a group with a new value each time, and takes no other kind', async () => {
  await gpuRent('wake epg/chat');
  expect(await gpuRent('wake epg/chat')).toMatchObject({
    stdout: 'epg/chat requested a wake of one worker\n',
  });
  const values = writes().map(([, , body]) => Object(body).metadata.annotations[annotations.wakeAt]);
  expect(new Set(values).size).toBe(2);
  expect(await gpuRent('wake gpui/trainer')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Write epg/name.'),
  });
});

describe('reconcile', () => {
  test('ends when the operator echoes the request', async () => {
    here.cluster.answer = async (asked) => {
      const answer = await here.stored(asked);
      const requestedAt = Object(asked.body).metadata?.annotations?.[annotations.requestedAt];
      if (requestedAt) here.status('gpuinstances', 'trainer', { ...status, requestedAt });
      return answer;
    };
    expect(await gpuRent('reconcile gpui/trainer')).toMatchObject({
      ...{ exitCode: 0, stdout: 'gpui/trainer reconciled\n' },
    });
  });

  test('ends with 4 if the operator does not see it, and at once with --no-wait', async () => {
    const { exitCode, stderr } = await gpuRent('reconcile gpuacct/default --timeout 100ms');
    expect(exitCode).toBe(4);
    expect(stderr).toContain('gpuacct/default: the operator has not seen the request within');
    expect(stderr).toContain('gpu-rent doctor');
    expect(await gpuRent('reconcile gpuacct/default --no-wait')).toMatchObject({
      ...{ exitCode: 0, stdout: 'gpuacct/default asked to reconcile\n' },
    });
  });

  test('ends with Ctrl-C while it waits', async () => {
    const abort = new AbortController();
    here.cluster.answer = (asked) => {
      if (asked.method === 'PATCH') setTimeout(() => abort.abort(new Interrupted()));
      return here.stored(asked);
    };
    const ran = here.cluster.cli.run(['reconcile', 'gpui/trainer'], { signal: abort.signal });
    expect(await ran).toMatchObject({ exitCode: 130 });
  });
});

describe('an object is named', () => {
  test.each([
    ['pause gpui trainer tester', ['trainer', 'tester']],
    ['pause -n team gpuinstances trainer', ['trainer']],
    ['pause gpui/trainer tester', ['trainer', 'tester']],
    ['pause trainer trainer', ['trainer']],
  ])('as in: %s', async (line, names) => {
    expect(await gpuRent(line)).toMatchObject({ exitCode: 0 });
    expect(writes().map(([, path]) => path)).toEqual(names.map((name) => `gpuinstances/${name}`));
    await gpuRent(`resume ${names.join(' ')}`);
  });

  test('by kind and name where a command takes one, and the words after it stay', async () => {
    expect((await gpuRent('status gpui trainer -o json')).stdout).toContain('"object": "gpui/trainer"');
    const { stderr } = await gpuRent('ssh gpui new -- gpui trainer');
    expect(stderr).toContain('gpui/new has no machine');
  });
});

describe('wait', () => {
  const ready = (name: string, value: 'True' | 'False') => {
    const conditions = [
      {
        ...{ type: 'Ready', status: value, reason: 'Test', message: `${name} is ${value}.` },
        lastTransitionTime: '2026-11-20T10:00:00Z',
      },
    ];
    here.status('gpuinstances', name, { ...status, observedGeneration: 1, conditions });
  };
  beforeAll(() => {
    for (const name of ['sweep-1', 'sweep-2'])
      here.put('gpuinstances', { metadata: { name, labels: { job: 'sweep' } }, spec });
    ready('sweep-1', 'True');
    ready('sweep-2', 'True');
  });

  test('for several objects reports each, as one list to scripts', async () => {
    const { exitCode, stdout } = await gpuRent('wait gpui sweep-1 sweep-2 -o json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'sweep-1' }, { id: 'sweep-2' }]);
  });

  test('by labels reports those that have them', async () => {
    const { stdout } = await gpuRent('wait gpui -l job=sweep');
    expect(stdout).toMatch(/^gpui\/sweep-1 is ready after \S+\ngpui\/sweep-2 is ready after \S+\n$/);
  });

  test('by labels that no object has ends with 3, unless deletion is waited for', async () => {
    expect(await gpuRent('wait -l job=none')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('No GpuInstance in namespace team has the labels job=none.'),
    });
    expect(await gpuRent('wait -l job=none --for delete')).toMatchObject({ exitCode: 0 });
  });

  test('for what a manifest names, in the namespace that it names', async () => {
    const file = join(here.cluster.cli.home, 'two objects.yaml');
    const document = (name: string) =>
      `apiVersion: gpurental.dev/v1alpha1\nkind: GpuInstance\nmetadata: {name: ${name}, namespace: team}\n`;
    const other = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n';
    writeFileSync(file, [document('sweep-1'), other, document('sweep-2')].join('---\n'));
    const ran = await here.cluster.cli.run(['wait', '-f', file, '-n', 'default', '-o', 'name']);
    expect(ran).toEqual({ exitCode: 0, stdout: 'gpui/sweep-1\ngpui/sweep-2\n', stderr: '' });
    writeFileSync(file, other);
    expect(await here.cluster.cli.run(['wait', '-f', file])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(
        'names no GpuInstance, EndpointGroup, MarketplaceAccount or SpendBudget.',
      ),
    });
  });

  test('reports what is ready, and then each that was not in time', async () => {
    ready('sweep-2', 'False');
    const { exitCode, stdout, stderr } = await gpuRent('wait gpui sweep-1 sweep-2 new --timeout 1s');
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/^gpui\/sweep-1 is ready after \S+\n$/);
    expect(stderr).toContain('gpui/sweep-2 was not ready within 1s: sweep-2 is False.');
    expect(stderr).toContain('gpui/new was not ready within 1s:');
    ready('sweep-2', 'True');
  });

  test.each([
    ['wait', 'No object was named.'],
    ['wait -l a=b -f x.yaml', '-l and -f exclude each other.'],
    ['wait gpui/trainer -l a=b', '-l selects among objects of one kind.'],
  ])('%s is refused', async (line, what) => {
    const { exitCode, stderr } = await gpuRent(line);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(what);
  });
});

test('completion of a verb offers objects, and the noun of the marketplace', async () => {
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {});
  await here.cluster.cli.run(['complete', '--', 'stop', '']);
  const offered = printed.mock.calls.map(([text]) => String(text).split('\t')[0]);
  printed.mockRestore();
  expect(offered).toEqual(expect.arrayContaining(['gpui/trainer', 'gpui/tester', 'instance']));
});
