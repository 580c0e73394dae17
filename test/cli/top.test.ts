import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { endpointGroupForm } from '../../src/api/v1alpha1/endpoint-group-form.ts';
import { annotations, labels } from '../../src/api/v1alpha1/names.ts';
import { encodeStatus } from '../../src/api/v1alpha1/record.ts';
import { Interrupted } from '../../src/cli/command-error.ts';
import { groupFigures } from '../../src/views/group-figures.ts';
import { condition, groupObject } from '../builders/group-worker.ts';
import { type Desk, desk } from './desk.ts';
import { refused } from './scripted-cluster.ts';

/* Groups as `gpu-rent top` shows them. */

let here: Desk;
const MINUTE = 60_000;
const ago = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString();

const conditions = [condition('Ready', 'True', '2026-11-20T11:10:00Z')];
const templateSpec = { image: 'x', offers: [{ maxPricePerHour: '1' }] };

beforeAll(async () => {
  here = await desk();
  here.put('endpointgroups', {
    metadata: { name: 'chat' },
    spec: { template: { spec: templateSpec }, gateway: {}, maxWorkers: 9, maxSpendPerHour: '3.00' },
    status: encodeStatus(endpointGroupForm, {
      ...{ phase: 'Ready', ready: 1, replicas: 2, cold: 1, starting: 1, draining: 1, total: 4 },
      pricePerHour: '1.25',
      gateway: {
        ...{ url: 'https://gateway.example/team/chat', pickers: 2, heldRequests: 7, inFlightRequests: 5 },
        workers: [{ name: 'chat-a', requests: 5, work: '1234.5', perf: '2.25' }],
        reportedAt: ago(15 * MINUTE),
      },
      autoscaling: {
        ...{
          at: ago(30 * MINUTE),
          load: '12.34',
          burstLoad: '20',
          longLoad: '30',
          queue: '7',
          capacity: '2.25',
        },
        ...{ rateCapacity: '9', queueCapacity: '1', hotCapacity: '9', totalCapacity: '9' },
        ...{ hotNeed: 2, totalNeed: 4, hot: 2, total: 4, rule: 'Load' },
      },
    }),
  });
  here.put('endpointgroups', {
    metadata: { name: 'batch' },
    spec: { template: { spec: templateSpec } },
    status: { phase: 'Zero', ready: 0, replicas: 0, cold: 0, pricePerHour: '0.05' },
  });
  here.put('endpointgroups', { metadata: { name: 'new' }, spec: { template: { spec: templateSpec } } });
  const worker = (name: string, group: string, role: string, more: object = {}) =>
    here.put('gpuinstances', {
      metadata: {
        name,
        labels: { [labels.endpointGroup]: group },
        annotations: { [annotations.desiredRole]: role, ...Object(more)['annotations'] },
      },
      spec: templateSpec,
      status: {
        phase: 'Running',
        gpu: { name: 'RTX 4090', count: 2 },
        cost: { pricePerHour: '0.625', accrued: '0' },
        ...Object(more)['status'],
      },
    });
  worker('chat-a', 'chat', 'Hot', { status: { conditions } });
  worker('chat-b', 'chat', 'Cold', {
    status: { phase: 'Stopped', cost: { pricePerHour: '0.01', accrued: '0' } },
  });
  worker('chat-c', 'chat', 'Gone', { annotations: { [annotations.drainSince]: ago(MINUTE) } });
  worker('other', 'batch', 'Hot');
});
afterAll(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));

describe('gpu-rent top', () => {
  test('of a group shows its gateway, load, cost and workers', async () => {
    const { exitCode, stdout, stderr } = await gpuRent('top epg/chat --once');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.replaceAll(/ +\d+s$/gm, ' AGE')).toBe(
      [
        'epg/chat in team: Ready',
        'Workers:  1 of 2 hot ready, 1 starting, 1 draining, 1 cold; at most 9',
        'Gateway:  2 pickers, 7 held, 5 in flight, https://gateway.example/team/chat (written 15m ago)',
        'Load:     12.3 requests/s (20 over 10 s); 2.3 can be done; 7 wait, for about 3s (written 30m ago)',
        'Cost:     $1.25/h, $30.00/day; at most $3.00/h',
        '',
        'WORKER   ROLE       READY   PHASE     REQUESTS   WORK   WORK/S   $/H      GPU            AGE',
        'chat-a   Hot        yes     Running   5          1235   2.3      $0.625   2 × RTX 4090 AGE',
        'chat-c   Draining   no      Running   -          -      -        $0.625   2 × RTX 4090 AGE',
        'chat-b   Cold       no      Stopped   -          -      -        $0.01    2 × RTX 4090 AGE',
        '',
      ].join('\n'),
    );
  });

  test('without a name shows all groups, the dearest first, and their sum', async () => {
    expect(await gpuRent('top --once')).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: [
        'NAME    PHASE   READY   COLD   PICKERS   HELD   IN FLIGHT   LOAD/S          CAPACITY/S   WAIT   $/H',
        'chat    Ready   1/2     1      2         7      5           12.3 requests   2.3          3s     $1.25',
        'batch   Zero    0/0     0      -         -      -           -               -            -      $0.05',
        'new     -       0/0     0      -         -      -           -               -            -      -',
        'total   -       1/2     1      -         -      -           -               -            -      $1.30',
        '',
      ].join('\n'),
    });
  });

  test('shows namespaces with -A, and the limit and the URL with -o wide', async () => {
    const { stdout } = await gpuRent('top epg --once -A -o wide');
    expect(stdout).toMatch(/^NAMESPACE +NAME .* AT MOST +URL$/m);
    expect(stdout).toMatch(/^team +chat .* \$3\.00 +https:\/\/gateway\.example\/team\/chat$/m);
  });

  test.each([
    ['the tokens of a gateway that counts them', { gateway: { work: 'OpenAITokens' } }, 'tokens'],
    ['units where a header says what a request is', { gateway: { work: 'Header' } }, 'units'],
    ['units where another source tells the load', { gateway: {}, load: { type: 'Static' } }, 'units'],
    ['units without a gateway', {}, 'units'],
  ])('calls the load by %s', (_, spec, unit) => {
    const at = '2026-11-20T12:00:00Z';
    const autoscaling = { at, load: '5', burstLoad: '5', capacity: '0', queue: '0' };
    const status = { autoscaling } as EndpointGroup['status'];
    const { load } = groupFigures(groupObject(spec, { status }), [], Date.parse(at));
    expect(load).toMatchObject({ unit, perSecond: 5 });
    expect(load?.waitSeconds).toBeUndefined();
  });

  test('gives machines one value', async () => {
    const { stdout } = await gpuRent('top epg/chat --once -o json');
    const { at, groups } = JSON.parse(stdout);
    expect(Date.parse(at)).toBeGreaterThan(0);
    expect(groups).toMatchObject([
      {
        name: 'chat',
        gateway: { pickers: 2, heldRequests: 7, inFlightRequests: 5 },
        load: { unit: 'requests', perSecond: 12.34, waiting: 7, waitSeconds: 3.1 },
        cost: { perHour: 1.25, maxPerHour: 3 },
        workerList: [
          { name: 'chat-a', role: 'Hot', ready: true, requests: 5, work: 1234.5, workPerSecond: 2.25 },
          { name: 'chat-c', role: 'Draining', ready: false, gpu: { name: 'RTX 4090', count: 2 } },
          { name: 'chat-b', role: 'Cold', pricePerHour: 0.01 },
        ],
      },
    ]);
  });

  test.each([
    ['top epg/chatt --once', 3, 'There is no epg/chatt in namespace team.', 'Did you mean epg/chat?'],
    [
      'top gpuacct/default --once',
      2,
      '"gpuacct/default" is not accepted here.',
      'Write epg/name or gpui/name.',
    ],
    ['top epg/chat gpui/chat-a --once', 2, 'Groups and machines are not shown together.', ''],
    ['top gpui/nothing --once', 3, 'There is no gpui/nothing in namespace team.', ''],
    ['top --interval soon', 2, '--interval: "soon" is not a time', ''],
  ])('%s fails, and says what to do', async (line, code, what, remedy) => {
    const { exitCode, stdout, stderr } = await gpuRent(line);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
    expect(stderr).toContain(what);
    expect(stderr).toContain(remedy);
  });
});

describe('gpu-rent top gpui', () => {
  let id: number;
  beforeAll(async () => {
    here.account('default');
    const uid = here.put('gpuinstances', { metadata: { name: 'trainer' }, spec: templateSpec });
    id = await here.labelledMachine(uid);
    here.market.service.simulator.advance(60_000);
    here.status('gpuinstances', 'trainer', {
      ...{ phase: 'Running', instanceId: String(id), gpu: { name: 'H100 SXM', count: 2 }, conditions },
      cost: { pricePerHour: '4.5', accrued: '1.25' },
    });
  });

  test('shows how much of the GPU is used, what it costs, and the sum', async () => {
    const { exitCode, stdout, stderr } = await gpuRent('top gpui --once');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const [head, first, ...rest] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^NAME +PHASE +READY +GPU +GPU USED +\$\/H +COST +AGE$/);
    expect(first).toMatch(/^trainer +Running +yes +2 × H100 SXM +\d+ % +\$4\.50 +\$1\.25 +\d+s$/);
    expect(rest.at(-1)).toMatch(/^total +- +- +- +- +\$6\.385 /);
  });

  test('of one machine gives programs the share', async () => {
    const { stdout } = await gpuRent('top gpui/trainer --once -o json');
    const { instances, notes } = JSON.parse(stdout);
    expect(notes).toEqual([]);
    expect(instances).toMatchObject([
      { name: 'trainer', machine: String(id), pricePerHour: 4.5, cost: 1.25 },
    ]);
    expect(instances[0].gpuUtilization).toBeGreaterThanOrEqual(0);
    expect(instances[0].gpuUtilization).toBeLessThanOrEqual(1);
  });

  test('names an account whose credit is low', async () => {
    const message = 'Credit is used up in about a day or less.';
    const low = { type: 'CreditLow', status: 'True', reason: 'CreditLow', message };
    const conditions = [{ ...low, lastTransitionTime: '2026-11-20T12:00:00Z' }];
    here.status('marketplaceaccounts', 'default', { conditions });
    const { stdout } = await gpuRent('top gpui --once');
    here.status('marketplaceaccounts', 'default', {});
    expect(stdout).toContain(`gpuacct team/default: ${message}\n`);
  });

  test('shows the rest if the account cannot be asked, and says so', async () => {
    here.put('gpuinstances', {
      metadata: { name: 'keyless' },
      spec: { ...templateSpec, accountRef: { name: 'missing' } },
      status: { phase: 'Running', instanceId: '5', cost: { pricePerHour: '1', accrued: '0' } },
    });
    const { exitCode, stdout } = await gpuRent('top gpui/keyless --once');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^keyless +Running +no +- +- +\$1\.00 /m);
    expect(stdout).toMatch(
      /GPU utilization is unknown for gpuacct team\/missing: There is no gpuacct\/missing/,
    );
  });
});

describe('gpu-rent top, until it is interrupted,', () => {
  /** Runs until groups were asked for so often. */
  async function watched(line: string, looks: number) {
    const interruption = new AbortController();
    let asked = 0;
    here.cluster.answer = (question) => {
      if (question.path.endsWith('/endpointgroups')) asked += 1;
      if (asked > looks) interruption.abort(new Interrupted());
      return here.stored(question);
    };
    const { signal } = interruption;
    const ran = await here.cluster.cli.run([...line.split(' '), '--interval', '1ms'], { signal });
    here.cluster.answer = here.stored;
    return ran;
  }

  test('prints a table for each look, and ends without a word', async () => {
    const { exitCode, stdout, stderr } = await watched('top', 3);
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: '' });
    const tables = stdout.split('\n\n');
    expect(tables).toHaveLength(3);
    for (const table of tables) expect(table).toMatch(/^NAME .*\nchat .*\nbatch .*\nnew .*\ntotal /);
  });

  test('prints a line of JSON for each look', async () => {
    const { stdout } = await watched('top -o json', 2);
    const values = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(values).toMatchObject([{ groups: [{}, {}, {}] }, { groups: [{}, {}, {}] }]);
  });

  test('fails where the first look does', async () => {
    here.cluster.answer = () => refused(403, 'Forbidden', 'you may not');
    const { exitCode, stdout, stderr } = await gpuRent('top');
    here.cluster.answer = here.stored;
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('Error: ');
  });
});

describe('gpu-rent top at a terminal', () => {
  test('fits what it shows to the screen, and draws over it', async () => {
    const terminal = here.cluster.cli.atTerminal(['top', 'epg/chat', '--interval', '1ms'], {
      size: { columns: 20, rows: 5 },
    });
    const frame = ['epg/chat in team: R…', 'Workers:  1 of 2 ho…', 'Gateway:  2 pickers…', '… 7 more lines'];
    const drawn = `\u001b[H${frame.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`;
    await terminal.until(`\u001b[2J${drawn}${drawn}`);
    terminal.interrupt();
    expect(await terminal.ended).toBe(130);
    expect(terminal.shown()).not.toContain('Interrupted');
  });

  test('goes on when the API server was away for a moment', async () => {
    const terminal = here.cluster.cli.atTerminal(['top', '--interval', '1ms']);
    await terminal.until('total');
    here.cluster.answer = () => refused(503, 'ServiceUnavailable', 'etcd is away');
    await terminal.until('etcd is away');
    here.cluster.answer = here.stored;
    here.status('endpointgroups', 'new', { phase: 'Paused' });
    await terminal.until('Paused');
    terminal.interrupt();
    expect(await terminal.ended).toBe(130);
  });

  test('that cannot move its cursor prints tables', async () => {
    const terminal = here.cluster.cli.atTerminal(['top', '--interval', '1ms'], { env: { TERM: 'dumb' } });
    await terminal.until('total');
    terminal.interrupt();
    await terminal.ended;
    expect(terminal.shown()).not.toContain('\u001b');
  });
});
