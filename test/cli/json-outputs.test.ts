import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endpointGroupForm } from '../../src/api/v1alpha1/endpoint-group-form.ts';
import { marketplaceAccountForm } from '../../src/api/v1alpha1/marketplace-account-form.ts';
import { labels } from '../../src/api/v1alpha1/names.ts';
import { encodeStatus } from '../../src/api/v1alpha1/record.ts';
import { JSON_OUTPUTS } from '../../src/views/json-outputs.ts';
import { goldenText } from '../builders/golden-text.ts';
import { condition } from '../builders/group-worker.ts';
import { type Desk, desk } from './desk.ts';

/* JSON of commands: each is as its schema in src/views says, which the reference page shows. */

const golden = goldenText(
  'test/golden/json-outputs.txt',
  'JSON that commands print, as the reference page says.',
);

let here: Desk;
const offers = [{ maxPricePerHour: '100' }];
const spec = { image: 'ubuntu:24.04', offers, accountRef: { name: 'default' } };
const at = '2026-11-20T11:10:00Z';
const conditions = [condition('Ready', 'True', at), condition('Reconciling', 'False', at)];

beforeAll(async () => {
  here = await desk();
  here.account('default', {
    spec: { limits: { maxSpendPerMonth: '400' } },
    status: encodeStatus(marketplaceAccountForm, {
      credit: '25.00',
      retained: [{ instanceId: '9', owner: 'team/gone', ownerUid: 'uid-gone', policy: 'Stop', since: at }],
    }),
  });
  here.put('gpuinstances', {
    metadata: { name: 'trainer' },
    spec: { ...spec, maxTotalCost: '50' },
    status: {
      ...{
        phase: 'Running',
        instanceId: '4711',
        offerId: '5',
        gpu: { name: 'RTX 4090', count: 2 },
        conditions,
      },
      cost: { pricePerHour: '0.625', accrued: '1.25', storagePricePerHour: '0.01' },
      history: [
        {
          ...{ attempt: 1, instanceId: '17', reason: 'ImagePullFailed', endedAt: at, rentedMinutes: 3 },
          ...{ cost: '0.02', pricePerHour: '0.5', gpuName: 'RTX 4090', lastStatus: 'loading' },
        },
      ],
    },
  });
  here.put('gpuinstances', { metadata: { name: 'new' }, spec });
  here.put('endpointgroups', {
    metadata: { name: 'chat' },
    spec: { template: { spec }, gateway: {}, maxWorkers: 9, maxSpendPerHour: '3.00' },
    status: encodeStatus(endpointGroupForm, {
      ...{ phase: 'Ready', ready: 1, replicas: 1, cold: 0, starting: 0, draining: 0, total: 1, conditions },
      ...{ pricePerHour: '1.25', load: '12.34', utilizationPercent: 51 },
      gateway: {
        ...{ url: 'https://gateway.example/team/chat', pickers: 2, heldRequests: 7, inFlightRequests: 5 },
        workers: [{ name: 'chat-a', requests: 5, work: '1234.5', perf: '2.25' }],
        reportedAt: at,
      },
      autoscaling: {
        ...{ at, load: '12.34', burstLoad: '20', longLoad: '30', queue: '7', capacity: '24' },
        ...{ rateCapacity: '9', queueCapacity: '1', hotCapacity: '9', totalCapacity: '9' },
        ...{ hotNeed: 2, totalNeed: 4, hot: 2, total: 4, rule: 'Load', explanation: 'The load decides.' },
      },
    }),
  });
  here.put('gpuinstances', {
    metadata: { name: 'chat-a', labels: { [labels.endpointGroup]: 'chat' } },
    spec,
    status: {
      phase: 'Running',
      endpoint: { address: '203.0.113.7:4000' },
      conditions,
      cost: { pricePerHour: '1.25', accrued: '0' },
    },
  });
});
afterAll(() => here.close());

const manifest = (name: string, change: object = {}) =>
  JSON.stringify({
    ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance' },
    metadata: { name, namespace: 'team' },
    spec: { ...spec, ...change },
  });
const manifests = [
  manifest('planned'),
  manifest('trainer', { image: 'ubuntu:26.04' }),
  manifest('dear', { offers: [{ maxPricePerHour: '0.001' }] }),
].join('\n---\n');

/** Replaces times, ages and ports, which differ between runs. */
function steady(text: string): string {
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"ageSeconds": \d+/g, '"ageSeconds": 0')
    .replaceAll(/\b(\d+[smhd])+( ago|")/g, 'AGE$2')
    .replaceAll(/this month \$[\d.]+/g, 'this month $0')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/"upMs": \d+/g, '"upMs": 0');
}

interface Case {
  readonly headline: string;
  readonly schema: keyof typeof JSON_OUTPUTS;
  readonly line: string;
  readonly stdin?: string;
}

const CASES: readonly Case[] = [
  { headline: 'status of a GpuInstance', schema: 'status', line: 'status gpui/trainer' },
  { headline: 'status of an EndpointGroup', schema: 'status', line: 'status epg/chat' },
  { headline: 'status of a MarketplaceAccount', schema: 'status', line: 'status gpuacct/default' },
  { headline: 'top of groups', schema: 'topGroups', line: 'top --once' },
  { headline: 'top of GpuInstances', schema: 'topInstances', line: 'top gpui --once' },
  { headline: 'cost', schema: 'cost', line: 'cost' },
  { headline: 'cost by namespace', schema: 'costBy', line: 'cost --by namespace' },
  { headline: 'plan', schema: 'plan', line: 'plan -f - --show 2', stdin: manifests },
  { headline: 'explain of a GpuInstance', schema: 'explainInstance', line: 'explain gpui/new' },
  { headline: 'explain of an EndpointGroup', schema: 'explainGroup', line: 'explain epg/chat' },
];

test.each(CASES)(
  '$headline prints JSON as its schema says',
  async ({ headline, schema, line, stdin = '' }) => {
    const { stdout } = await here.cluster.cli.run([...line.split(' '), '-o', 'json'], { stdin });
    const value: unknown = JSON.parse(stdout);
    expect(JSON_OUTPUTS[schema].schema.parse(value)).toEqual(value);
    golden.expect(headline, steady(stdout).trimEnd());
  },
);

test('simulate epg prints ticks and a summary as their schemas say', async () => {
  const group = JSON.stringify({
    ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'EndpointGroup', metadata: { name: 'chat' } },
    spec: { template: { spec }, expectedPerf: '100', maxWorkers: 9 },
  });
  const trace = join(here.cluster.cli.home, 'load.csv');
  writeFileSync(trace, 'seconds,load\n0,50\n60,250\n120,0\n');
  const line = ['simulate', 'epg', '-f', '-', '--trace', trace, '-o', 'json'];
  const { stdout } = await here.cluster.cli.run(line, { stdin: group });
  const [ticks, summary] = stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text));
  expect(JSON_OUTPUTS.simulateTicks.schema.parse(ticks)).toHaveLength(13);
  expect(JSON_OUTPUTS.simulateSummary.schema.parse(summary)).toMatchObject({ seconds: 130, offered: 18_000 });
});

test('the golden text has no other command', () => {
  golden.expectNoOther(CASES.map(({ headline }) => headline));
});

test('a schema refuses a field that it does not name', () => {
  const row = { namespace: 'team', name: 'a', account: 'team/a', perHour: 1, perDay: 24, soFar: 0 };
  const { schema } = JSON_OUTPUTS.cost;
  expect(schema.safeParse([row]).success).toBe(true);
  expect(schema.safeParse([{ ...row, more: 1 }]).success).toBe(false);
});
