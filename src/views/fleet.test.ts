import { describe, expect, test } from 'vitest';
import { accountObject } from '../../test/builders/fleet-objects.ts';
import { groupObject } from '../../test/builders/group-worker.ts';
import { given, NOW, time, withMachine } from '../../test/builders/observed.ts';
import type {
  GpuInstance,
  GpuInstanceManifestSpec,
  GpuInstanceStatus,
} from '../api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../api/v1alpha1/names.ts';
import { reasons } from '../api/v1alpha1/reasons.ts';
import { type FleetRow, fleetRows, instanceRow, untilText } from './fleet.ts';
import { plannedSteps } from './planned-steps.ts';

interface Case {
  readonly spec?: GpuInstanceManifestSpec;
  readonly status?: Partial<GpuInstanceStatus>;
  readonly metadata?: Partial<GpuInstance['metadata']>;
}

/** Returns a running machine with these changes. */
function instance({ spec, status, metadata }: Case = {}): GpuInstance {
  const { object } = given(withMachine({}, { ...(spec && { spec }), ...(status && { status }) }));
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

const row = (one: Case): FleetRow => instanceRow(instance(one), { now: NOW });
const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  ...{ type, status, reason, message: 'text' },
  lastTransitionTime: time(-60),
});

describe('planned steps', () => {
  const later = (seconds: number) => NOW + seconds * 1000;

  test.each<[string, Case, { readonly title: string; readonly at: number } | undefined]>([
    ['nothing for a machine without limits', {}, undefined],
    [
      'the end of maxLifetime with its policy',
      { spec: { maxLifetime: '2h', deletionPolicy: 'Stop' }, status: { firstRentedAt: time(-3600) } },
      { title: 'maxLifetime ends: Stop', at: later(3600) },
    ],
    [
      'the end of an idle machine',
      {
        spec: { idle: { after: '1h', action: 'Destroy' } },
        status: { idle: { since: time(-60), endsAt: time(300) } },
      },
      { title: 'Idle: Destroy unless used', at: later(300) },
    ],
    [
      'the end of a lease that was not renewed',
      {
        spec: { lease: { duration: '1h', by: 'SSH' } },
        status: {
          conditions: [condition('LeaseAtRisk', 'True', 'LeaseAtRisk')],
          lease: { renewedAt: time(-1800) },
          selfEnd: { leaseSeconds: 3600, proof: 'Proven' },
        },
      },
      { title: 'Lease ends unless renewed', at: later(1800) },
    ],
    [
      'the end of the rental contract',
      { status: { contractEnd: { at: time(7200) } } },
      { title: 'Rental contract ends', at: later(7200) },
    ],
    [
      'the tolerance of a machine that went offline',
      { status: { actualStatus: 'offline', actualStatusSince: time(-20) } },
      { title: 'Replaced unless it answers', at: later(40) },
    ],
    [
      'the timeout of loading from its last progress',
      {
        status: {
          ...{ actualStatus: 'loading', actualStatusSince: time(-600), progressAt: time(-60) },
          runningAt: undefined,
        },
      },
      { title: 'Loading times out', at: later(1140) },
    ],
    [
      'the hard limit of loading, however much progress is seen',
      {
        status: {
          ...{ actualStatus: 'loading', actualStatusSince: time(-3500), progressAt: time(-60) },
          runningAt: undefined,
        },
      },
      { title: 'Loading times out', at: later(100) },
    ],
    [
      'a requested replacement',
      { metadata: { annotations: { [annotations.replaceAt]: time(60) } }, status: { rentedAt: time(-600) } },
      { title: 'Replaced as requested', at: later(60) },
    ],
    [
      'the wait after failures of the spec',
      {
        status: {
          instanceId: undefined,
          repeatedFailure: { reason: 'Exited', machines: 3, at: time(-60), cost: '0.1', generation: 1 },
        },
        metadata: { generation: 1 },
      },
      { title: 'Rents again after failures', at: later(60) },
    ],
    [
      'the deletion of a finished run',
      {
        spec: { completion: { ttlAfterFinished: '1h' } },
        status: { run: { finishedAt: time(-600), outcome: 'Completed' } },
      },
      { title: 'Object is deleted', at: later(3000) },
    ],
  ])('show %s', (_, one, expected) => {
    const [first] = plannedSteps(instance(one), NOW);
    expect(first && { title: first.title, at: first.at }).toEqual(expected);
  });

  test.each<[string, Case]>([
    ['held', { metadata: { annotations: { [annotations.hold]: 'true' } } }],
    ['kept by its policy', { spec: { replacement: { policy: 'Never' } } }],
    ['paused', { spec: { paused: true } }],
  ])('promise no replacement when the machine is %s', (_, { status: _none, ...one }) => {
    const steps = plannedSteps(
      instance({ ...one, status: { actualStatus: 'offline', actualStatusSince: time(-20) } }),
      NOW,
    );
    expect(steps.filter(({ title }) => title.startsWith('Replaced'))).toEqual([]);
  });

  test('have no end of maxLifetime when the run is finished and its machine is gone', () => {
    const run = { finishedAt: time(-600), outcome: 'Completed' } as const;
    const titles = (status: Case['status']) =>
      plannedSteps(
        instance({ spec: { maxLifetime: '2h' }, status: { firstRentedAt: time(-3600), run, ...status } }),
        NOW,
      ).map(({ title }) => title);
    expect(titles({ instanceId: undefined })).toEqual([]);
    // A kept machine still ends by it.
    expect(titles({})).toContain('maxLifetime ends: Destroy');
  });

  test('come in order of time, and leave out times that are over', () => {
    const steps = plannedSteps(
      instance({
        spec: { maxLifetime: '3h', idle: { after: '1h', action: 'Stop' } },
        status: {
          firstRentedAt: time(-3600),
          idle: { since: time(-60), endsAt: time(300) },
          contractEnd: { at: time(-1) },
        },
      }),
      NOW,
    );
    expect(steps.map(({ title }) => title)).toEqual(['Idle: Stop unless used', 'maxLifetime ends: Destroy']);
  });
});

describe('the row of a GpuInstance', () => {
  test('has price, month, endpoint and account when the machine runs', () => {
    const shown = row({
      status: {
        phase: 'Running',
        conditions: [condition('Ready', 'True', 'Ready')],
        endpoint: '203.0.113.9:40022',
        gpu: { name: 'RTX 4090', count: 2 },
        cost: { pricePerHour: '0.50', accrued: '1.00', since: time(-3600) },
      },
    });
    expect(shown).toMatchObject({
      state: { phase: 'Running', tone: 'good' },
      gpu: '2 × RTX 4090',
      perHour: 500_000,
      month: 1_500_000,
      endpoint: '203.0.113.9:40022',
      next: undefined,
    });
  });

  test.each<[string, Case, FleetRow['state']]>([
    ['deleted', { metadata: { deletionTimestamp: time(-5) } }, { phase: 'Deleting', tone: 'busy' }],
    ['not yet reconciled', { status: { conditions: [] } }, { phase: 'New', tone: 'busy' }],
    [
      'stopped as requested',
      {
        spec: { powerState: 'Stopped' },
        status: { phase: 'Stopped', conditions: [condition('Ready', 'True', 'Stopped')] },
      },
      { phase: 'Stopped', tone: 'off' },
    ],
    [
      'paused while its machine runs and bills',
      {
        spec: { paused: true },
        status: { phase: 'Paused', conditions: [condition('Ready', 'True', 'Ready')] },
      },
      { phase: 'Paused', tone: 'waits' },
    ],
    [
      'paused with a stopped machine',
      {
        spec: { paused: true },
        status: {
          ...{ phase: 'Stopped', actualStatus: 'stopped' },
          conditions: [condition('Ready', 'True', 'Stopped')],
        },
      },
      { phase: 'Stopped', tone: 'off' },
    ],
    [
      'paused without a machine',
      {
        spec: { paused: true },
        status: {
          ...{ phase: 'Paused', instanceId: undefined },
          conditions: [condition('Ready', 'True', 'Ready')],
        },
      },
      { phase: 'Paused', tone: 'off' },
    ],
    [
      'finished, and keeps its machine',
      { status: { phase: 'Succeeded', conditions: [condition('Ready', 'True', 'Completed')] } },
      { phase: 'Succeeded', tone: 'waits' },
    ],
    [
      'finished without a machine',
      {
        status: {
          ...{ phase: 'Succeeded', instanceId: undefined },
          conditions: [condition('Ready', 'True', 'Completed')],
        },
      },
      { phase: 'Succeeded', tone: 'off' },
    ],
    [
      'stalled',
      {
        status: {
          phase: 'Failed',
          conditions: [
            condition('Ready', 'False', 'LimitReached'),
            condition('Stalled', 'True', 'LimitReached'),
          ],
        },
      },
      { phase: 'Failed', tone: 'stuck' },
    ],
  ])('names the state of an object that is %s', (_, one, state) => {
    expect(row(one).state).toEqual(state);
  });

  test('names the remedy first when a person has to act', () => {
    const { next } = row({
      spec: { maxLifetime: '2h' },
      status: {
        firstRentedAt: time(-60),
        conditions: [
          condition('Ready', 'False', 'LimitReached'),
          condition('Stalled', 'True', 'LimitReached'),
        ],
      },
    });
    expect(next).toEqual({ title: reasons.LimitReached.remedy, needsPerson: true });
  });

  test('hides the endpoint of a stopped machine', () => {
    expect(row({ status: { phase: 'Stopped', endpoint: '203.0.113.9:40022' } }).endpoint).toBeUndefined();
  });
});

describe('rows of groups and accounts', () => {
  const group = groupObject({}, { status: { phase: 'Ready', pricePerHour: '0.80' } });
  const worker = (name: string, namespace: string) => ({
    ...instance({ status: { cost: { pricePerHour: '0.40', accrued: '1.00', since: time(-3600) } } }),
    metadata: { name, namespace, labels: { [labels.endpointGroup]: 'llm' } },
  });
  const workers = [worker('a', 'team'), worker('b', 'team'), worker('c', 'elsewhere')];
  const objects = { instances: workers, groups: [group], accounts: [accountObject('other')] };

  test('count the workers of a group by its label and namespace', () => {
    const rows = fleetRows(objects, { now: NOW, isWhole: true });
    expect(rows.find(({ kind }) => kind === 'epg')).toMatchObject({
      ...{ group: 'llm', perHour: 800_000 },
      month: 2 * 1_400_000,
    });
  });

  test.each<[string, number, FleetRow['state']['tone']]>([
    ['off without machines', 0, 'off'],
    ['as waiting while machines bill', 1, 'waits'],
  ])('show a suspended account %s', (_, billing, tone) => {
    const counts = {
      ...{ objects: 1, rented: billing, billing },
      ...{ retained: 0, orphaned: 0, foreign: 0 },
    };
    const ready = { conditions: [condition('Ready', 'True', 'Ready')], machines: counts };
    const one = accountObject('other', ready);
    const account = { ...one, spec: { ...one.spec, suspend: true } };
    const [shown] = fleetRows(
      { instances: [], groups: [], accounts: [account] },
      { now: NOW, isWhole: true },
    );
    expect(shown?.state).toEqual({ phase: 'Suspended', tone });
  });

  test.each<[string, number, FleetRow['state']['tone']]>([
    ['off without hot workers', 0, 'off'],
    ['as waiting while workers run', 1, 'waits'],
  ])('show a paused group %s', (_, replicas, tone) => {
    const ready = [condition('Ready', 'True', 'Ready')];
    const one = groupObject({}, { status: { phase: 'Paused', replicas, conditions: ready } });
    const [shown] = fleetRows({ instances: [], groups: [one], accounts: [] }, { now: NOW, isWhole: true });
    expect(shown?.state).toEqual({ phase: 'Paused', tone });
  });

  test('leave the month of an account unknown when objects may be missing', () => {
    const month = (isWhole: boolean) =>
      fleetRows(objects, { now: NOW, isWhole }).find(({ kind }) => kind === 'gpuacct')?.month;
    expect(month(false)).toBeUndefined();
    expect(month(true)).toBe(12_250_000);
  });
});

test('untilText counts down, and says due when the time is over', () => {
  expect(untilText({ at: NOW + 90_000 }, NOW)).toBe('in 90s');
  expect(untilText({ at: NOW - 1 }, NOW)).toBe('due');
  expect(untilText({}, NOW)).toBeUndefined();
});
