import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { labels } from '../../src/api/v1alpha1/names.ts';
import { type Desk, desk } from './desk.ts';

/* P5: one command stops all spending, and one field keeps it stopped. */

const spec = { image: 'x', offers: [{ maxPricePerHour: '1' }] };
const status = (instanceId: string, more: object = {}) => ({
  ...{ phase: 'Running', instanceId, ...more },
  cost: { pricePerHour: '0.42', storagePricePerHour: '0.02', accrued: '0' },
});
const worker = { [labels.endpointGroup]: 'chat' };

let here: Desk;
beforeEach(async () => {
  here = await desk();
  here.put('namespaces', { metadata: { name: 'other', namespace: undefined } });
  here.account('default', { status: { retained: [], machines: undefined } });
  here.put('endpointgroups', { metadata: { name: 'chat' }, spec: { template: { spec } } });
  here.put('gpuinstances', { metadata: { name: 'trainer' }, spec, status: status('1') });
  here.put('gpuinstances', {
    metadata: { name: 'night' },
    ...{ spec: { ...spec, powerState: 'Stopped' }, status: status('2') },
  });
  here.put('gpuinstances', {
    metadata: { name: 'seen' },
    ...{ spec: { adopt: { instanceId: '3', policy: 'Observe' } }, status: status('3') },
  });
  here.put('gpuinstances', { metadata: { name: 'chat-a', labels: worker }, spec, status: status('4') });
  here.put('gpuinstances', { metadata: { name: 'far', namespace: 'other' }, spec, status: status('5') });
});
afterEach(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));
const writes = () =>
  here.cluster.asked
    .filter(({ method }) => method === 'PATCH')
    .map(({ path, body }) => [path.replace(/^.*namespaces\//, ''), Object(body).spec]);
const PAUSED = { pause: { scaleUp: true, scaleDown: true } };

describe('P5: gpu-rent stop --all', () => {
  test('pauses groups first, stops every machine of the namespace, and prints what still bills', async () => {
    const { exitCode, stdout, stderr } = await gpuRent('stop --all --yes');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(writes()).toEqual([
      ['team/endpointgroups/chat', PAUSED],
      ['team/gpuinstances/trainer', { powerState: 'Stopped' }],
      ['team/gpuinstances/chat-a', { powerState: 'Stopped' }],
    ]);
    expect(stdout).toMatch(/team +gpui\/seen +3 +\$0\.42 +only observed/);
    expect(stdout).toMatch(/team +gpui\/trainer +1 +\$0\.02 +disk/);
    expect(stdout).toContain('4 entries still bill: $0.48/h.');
  });

  test('changes nothing when it is run again', async () => {
    await gpuRent('stop --all --yes');
    here.cluster.asked.length = 0;
    const { exitCode, stdout } = await gpuRent('stop --all --yes');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Everything is already stopped.');
    expect(writes()).toEqual([]);
  });

  test.for(['stop -A --yes', 'stop --all -A --yes'])(
    '%s stops the machines of all namespaces',
    async (line) => {
      const { exitCode, stdout } = await gpuRent(line);
      expect(exitCode).toBe(0);
      expect(stdout).toContain('gpui/far powerState set to Stopped (namespace other)');
      expect(writes()).toContainEqual(['other/gpuinstances/far', { powerState: 'Stopped' }]);
    },
  );

  test('leaves finished runs alone, and asks nothing when nothing is left to stop', async () => {
    await gpuRent('stop --all --yes');
    for (const phase of ['Succeeded', 'Failed'])
      here.put('gpuinstances', {
        metadata: { name: phase.toLowerCase() },
        ...{ spec: { ...spec, command: ['true'], completion: {} }, status: { phase } },
      });
    here.cluster.asked.length = 0;
    const { exitCode, stdout, stderr } = await gpuRent('stop --all');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('Everything is already stopped.');
    expect(writes()).toEqual([]);
  });

  test('scenario 123: stops the others when one refuses, names it, and ends with 1', async () => {
    here.cluster.answer = async (asked) =>
      asked.method === 'PATCH' && asked.path.endsWith('/trainer')
        ? {
            status: 403,
            body: { kind: 'Status', message: 'a policy says no', reason: 'Forbidden', code: 403 },
          }
        : here.stored(asked);
    const { exitCode, stdout, stderr } = await gpuRent('stop --all --yes');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('gpui/trainer in namespace team was not changed');
    expect(stdout).toContain('gpui/chat-a powerState set to Stopped');
    expect(stdout).toMatch(/gpui\/trainer +1 +\$0\.42 +not stopped/);
  });

  test('asks before, and a no changes nothing', async () => {
    const terminal = here.cluster.cli.atTerminal(['stop', '--all']);
    await terminal.until(
      'Stop 1 GpuInstance, 1 worker, pause 1 EndpointGroup in namespace team ($0.84/h now)?',
    );
    terminal.type('n');
    expect(await terminal.ended).toBe(1);
    expect(writes()).toEqual([]);
  });

  test('without a terminal and --yes stops nothing', async () => {
    expect(await gpuRent('stop --all')).toMatchObject({ exitCode: 2, stdout: '' });
    expect(writes()).toEqual([]);
  });

  test('prints one document as JSON', async () => {
    const { stdout } = await gpuRent('stop --all --yes -o json');
    expect(JSON.parse(stdout)).toMatchObject({
      changed: [{ name: 'chat' }, { name: 'trainer' }, { name: 'chat-a' }],
      ...{ refused: [], dollarsPerHour: 0.48 },
    });
  });

  test.for(['stop', 'stop --all trainer', 'pause', 'resume'])(
    '%s is refused with the words to write',
    async (line) => {
      const { exitCode, stderr } = await gpuRent(line);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('--all');
      expect(writes()).toEqual([]);
    },
  );
});

test('P5: pause --all pauses every object of the namespace but workers, and resume --all ends it', async () => {
  expect(await gpuRent('pause --all')).toMatchObject({ exitCode: 0 });
  expect(writes()).toEqual([
    ['team/endpointgroups/chat', PAUSED],
    ['team/gpuinstances/night', { paused: true }],
    ['team/gpuinstances/seen', { paused: true }],
    ['team/gpuinstances/trainer', { paused: true }],
  ]);
  here.cluster.asked.length = 0;
  expect(await gpuRent('resume --all')).toMatchObject({ exitCode: 0 });
  expect(writes()).toContainEqual(['team/gpuinstances/trainer', { paused: false }]);
});

describe('P5: gpu-rent suspend account', () => {
  test('sets spec.suspend, and resume account takes it back', async () => {
    expect(await gpuRent('suspend account default')).toMatchObject({
      ...{ exitCode: 0, stdout: 'gpuacct/default suspended\n' },
    });
    expect(writes()).toEqual([['team/marketplaceaccounts/default', { suspend: true }]]);
    expect((await gpuRent('suspend account gpuacct/default')).stdout).toBe(
      'gpuacct/default was suspended before\n',
    );
    expect((await gpuRent('resume account default')).stdout).toBe('gpuacct/default resumed\n');
    expect(writes().at(-1)).toEqual(['team/marketplaceaccounts/default', { suspend: false }]);
  });

  test('names the account that does not exist', async () => {
    expect(await gpuRent('suspend account absent')).toMatchObject({ exitCode: 3, stdout: '' });
  });
});
