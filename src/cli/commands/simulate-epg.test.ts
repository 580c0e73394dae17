import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, test } from 'vitest';
import { describeFailure } from '../failures/describe-failure.ts';
import { runCommand } from '../run-command.ts';
import { simulateEpg } from './simulate-epg.ts';

const folder = mkdtempSync(join(tmpdir(), 'simulate-epg-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const HEAD = `apiVersion: gpurental.dev/v1alpha1
kind: EndpointGroup
metadata:
  name: llm
spec:
`;
const TEMPLATE = `  template:
    spec:
      image: x
      offers:
        - maxPricePerHour: "0.40"
`;
const GROUP = `${HEAD}  expectedPerf: "100"\n${TEMPLATE}`;
const LOAD = 'seconds,load\n0,0\n20,50\n300,50\n';

const entry = { name: 'simulate epg', summary: 'Replay a load.', load: async () => simulateEpg };

/** Runs the command as a shell would. */
async function run(args: readonly string[], signal = new AbortController().signal) {
  const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const context = { stdout, stderr, stdin, env: {}, signal };
  const exitCode = await runCommand(entry, args, { calledAs: 'gpu-rent', context }).catch(
    (error: unknown) => {
      const { lines, exitCode: failed } = describeFailure(error);
      stderr.write(lines.join('\n'));
      return failed;
    },
  );
  const read = (stream: PassThrough) => String(stream.read() ?? '');
  return { exitCode, stdout: read(stdout), stderr: read(stderr).replaceAll(`${folder}/`, '') };
}

interface Files {
  readonly group?: string;
  readonly trace?: string;
  readonly workers?: string;
  readonly output?: string;
}

async function simulate({ group = GROUP, trace = LOAD, workers, output = 'json' }: Files) {
  const more = workers === undefined ? [] : ['--workers', file('workers.yaml', workers)];
  const files = ['-f', file('group.yaml', group), '--trace', file('load.csv', trace)];
  return run([...files, ...more, '-o', output]);
}

const COLUMNS = 'seconds,load,hot,cold,ready,desiredHot,desiredTotal,queueSeconds,rejected,dollars';

describe('gpu-rent simulate epg', () => {
  test('prints an array of ticks as one line of JSON, then the summary as another', async () => {
    const { exitCode, stdout } = await simulate({});
    const [ticks, summary, end] = stdout.split('\n');
    const parsed = JSON.parse(ticks ?? '') as readonly Record<string, number>[];
    expect(parsed.map(({ seconds }) => seconds)).toEqual(
      Array.from({ length: 31 }, (_, index) => index * 10),
    );
    expect(Object.keys(parsed[0] ?? {}).join(',')).toBe(COLUMNS);
    expect(JSON.parse(summary ?? '')).toMatchObject({ offered: 14_500, dollars: parsed.at(-1)?.['dollars'] });
    expect({ exitCode, end }).toEqual({ exitCode: 0, end: '' });
  });

  test('prints the same ticks as CSV', async () => {
    const [json, csv] = [await simulate({}), await simulate({ output: 'csv' })];
    const [header, ...rows] = csv.stdout.trimEnd().split('\n');
    const ticks = JSON.parse(json.stdout.split('\n')[0] ?? '') as readonly Record<string, number>[];
    expect(header).toBe(COLUMNS);
    expect(rows).toEqual(ticks.map((tick) => Object.values(tick).join(',')));
  });

  test('draws the picture as one SVG document', async () => {
    const { stdout } = await simulate({ output: 'svg', group: GROUP.replace('name: llm', 'name: "a<b"') });
    expect(stdout).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg".*<\/svg>\n$/s);
    expect(stdout).toContain('epg/a&lt;b');
    expect(stdout).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('shows people a table and the sum of it', async () => {
    const { stdout, stderr } = await simulate({ output: 'table' });
    expect(stdout).toMatch(/^310 s: offered 14500, served \d+, rejected/);
    expect(stdout).not.toContain('SECONDS');
    const wide = await simulate({ output: 'wide' });
    expect(wide.stdout).toMatch(/^310 s: .*\n\nSECONDS +LOAD +HOT +COLD +READY/s);
    expect(stderr).toContain('100 units/s (expectedPerf)');
  });

  test('begins with the workers of the workers file, and rents the others', async () => {
    const workers = `
workers:
  - {state: Hot, perf: 30, pricePerHour: "0.10", count: 2}
  - {perf: 500, boot: 60s}
`;
    const { stdout, stderr } = await simulate({ workers, trace: 'seconds,load\n0,400\n100,400\n' });
    const ticks = JSON.parse(stdout.split('\n')[0] ?? '') as readonly Record<string, number>[];
    expect(ticks[0]).toMatchObject({ ready: 2 });
    expect(ticks.at(-1)?.['ready']).toBeGreaterThan(2);
    expect(stderr).toBe('');
  });

  test('begins with as many workers as the first row of the trace counts', async () => {
    const { stdout } = await simulate({ trace: 'seconds,load,hot,cold\n0,150,2,1\n10,150\n' });
    const [first] = JSON.parse(stdout.split('\n')[0] ?? '') as readonly Record<string, number>[];
    expect(first).toMatchObject({ hot: 2, ready: 2 });
  });

  test('Ctrl-C ends a long replay', async () => {
    const files = [
      '-f',
      file('group.yaml', GROUP),
      '--trace',
      file('load.csv', 'seconds,load\n0,9\n90000,9\n'),
    ];
    const stop = new AbortController();
    stop.abort(new Error('stopped'));
    const { exitCode, stdout } = await run(files, stop.signal);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  });

  test.each<Files & { readonly says: string; readonly title: string }>([
    { title: 'no YAML', group: 'a: [1\n', says: 'group.yaml:2: ' },
    {
      title: 'aliases that unfold without end',
      group: `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(10)}]\nc: [${'*b,'.repeat(11)}]\n`,
      says: 'group.yaml: Excessive alias count',
    },
    { title: 'an empty group file', group: '', says: 'group.yaml:1: the file is empty' },
    {
      title: 'another kind',
      group: `apiVersion: gpurental.dev/v1alpha1\nkind: GpuInstance\n`,
      says: 'group.yaml:2: kind: "GpuInstance" in place of EndpointGroup',
    },
    {
      title: 'another API',
      group: 'kind: EndpointGroup\napiVersion: apps/v1\n',
      says: 'group.yaml:2: apiVersion: "apps/v1" in place of gpurental.dev/v1alpha1',
    },
    {
      title: 'another version of ours',
      group: 'kind: EndpointGroup\napiVersion: gpurental.dev/v1\n',
      says: 'group.yaml:2: apiVersion: "gpurental.dev/v1" in place of gpurental.dev/v1alpha1',
    },
    { title: 'two groups', group: `${GROUP}---\n${GROUP}`, says: 'group.yaml:13: a second EndpointGroup' },
    {
      title: 'a number without quotes',
      group: `${HEAD}  minLoad: 5\n${TEMPLATE}`,
      says: 'group.yaml:6: spec.minLoad: Invalid input: expected string, received number: write it in quotes',
    },
    {
      title: 'a field that does not exist',
      group: `${GROUP}  maxWorker: 3\n`,
      says: 'group.yaml:12: spec.maxWorker: no such field; did you mean maxWorkers?',
    },
    {
      title: 'more cold workers than workers',
      group: `${GROUP}  maxWorkers: 3\n  coldWorkers: 5\n`,
      says: 'group.yaml:13: spec.coldWorkers: coldWorkers 5 is above maxWorkers 3: lower the one or raise the other',
    },
    {
      title: 'a target above the maximum',
      group: `${GROUP}  targetQueueTime: 60s\n`,
      says: 'group.yaml:12: spec.targetQueueTime: targetQueueTime 60s is above maxQueueTime 30s',
    },
    {
      title: 'a target of nothing',
      group: `${GROUP}  targetQueueTime: 0s\n`,
      says: 'group.yaml:12: spec.targetQueueTime: write at least 1s',
    },
    {
      title: 'too many replicas',
      group: `${GROUP}  replicas: 30\n`,
      says: 'replicas 30 is above maxWorkers 20',
    },
    {
      title: 'never to zero after a time',
      group: `${GROUP}  scaleToZero: Never\n  inactivityTimeout: 10m\n`,
      says: 'group.yaml:13: spec.inactivityTimeout: ',
    },
    {
      title: 'a ceiling below every offer',
      group: `${GROUP}  maxSpendPerHour: "0.20"\n`,
      says: 'maxSpendPerHour is below the maxPricePerHour of every alternative',
    },
    { title: 'a wrong column', trace: 'second,load\n0,1\n', says: 'load.csv:1: unknown column "second"' },
    {
      title: 'text for a number',
      trace: 'seconds,load\n0,many\n',
      says: 'load.csv:2: load "many" is not a number',
    },
    {
      title: 'rows out of order',
      trace: 'seconds,load\n10,1\n0,1\n',
      says: 'load.csv:3: seconds 0 is not greater than 10',
    },
    {
      title: 'more workers at the beginning than allowed',
      trace: 'seconds,load,hot\n0,1,21\n',
      says: 'starts with 21 workers, but its maxWorkers is 20',
    },
    {
      title: 'no workers in the file',
      workers: 'workers: []\n',
      says: 'workers.yaml:1: workers: write at least one',
    },
    {
      title: 'a worker that does nothing',
      workers: '- perf: 1\n- perf: 0\n',
      says: 'workers.yaml:2: [1].perf: ',
    },
    {
      title: 'an unknown field of a worker',
      workers: '- price: 1\n',
      says: 'workers.yaml:1: [0].price: no such field',
    },
    {
      title: 'an offer that would never be rented',
      workers: '- pricePerHour: "0.50"\n',
      says: 'workers.yaml:1: [0].pricePerHour: is above the 0.40 that the template allows',
    },
    {
      title: 'a beginning given twice',
      workers: '- state: Hot\n',
      trace: 'seconds,load,hot\n0,1,2\n',
      says: 'load.csv and the workers file both say how many workers the group starts with',
    },
  ])('$title is refused with file, line and remedy', async ({ says, title: _title, ...files }) => {
    const { exitCode, stdout, stderr } = await simulate(files);
    expect(stderr).toContain(says);
    expect(stderr).toContain('What to do: ');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  });

  test.each([
    { args: ['--trace', 'load.csv'], says: 'No group was given.' },
    { args: ['-f', 'group.yaml'], says: 'No load was given.' },
    { args: ['-f', '-', '--trace', '-'], says: 'Only one file can come from stdin.' },
    {
      args: ['-f', '/nowhere/group.yaml', '--trace', 'load.csv'],
      says: '-f: cannot read /nowhere/group.yaml (ENOENT).',
    },
    {
      args: ['-f', 'x', '--trace', 'y', '-o', 'xml'],
      says: 'Allowed choices are table, wide, json, csv, svg.',
    },
  ])('$args is a usage error', async ({ args, says }) => {
    const { exitCode, stderr } = await run(args);
    expect(stderr).toContain(says);
    expect(exitCode).toBe(2);
  });
});
