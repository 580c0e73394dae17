import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { groupObject } from '../builders/group-worker.ts';
import { SimulatedGroup } from '../builders/simulated-group.ts';

/** Edits the template of the group as a user. */
function editTemplate(life: SimulatedGroup, spec: Record<string, unknown>): void {
  const { template } = life.group()?.spec ?? {};
  life.edit({ template: { ...template, spec: { ...template?.spec, ...spec } } as never });
}

const leaving = (life: SimulatedGroup) =>
  life.workers().filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
const uids = (life: SimulatedGroup) => life.workers().map(({ metadata }) => metadata.uid);

describe('a new template', () => {
  test('costs no more workers than may be missing where all of them are away for a moment', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '350', updateStrategy: { type: 'RollingUpdate', maxUnavailable: 1 } });
    await life.until('four are ready', () => life.status().ready === 4);
    await life.pass(100);
    editTemplate(life, { image: 'example/worker:2' });
    await life.pass(1);
    await life.fault('mass-outage', { seconds: 20 });
    let most = 0;
    for (let second = 0; second < 60; second += 1) {
      await life.pass(1);
      most = Math.max(most, leaving(life).length);
    }
    expect(most).toBe(1);
    await life.until('all are replaced', () => life.status().updated === 4 && life.status().ready === 4);
  });

  test('lets a cold worker that has slept for an hour wake and serve first', async () => {
    const life = new SimulatedGroup();
    life.begin({ coldWorkers: 3 });
    const isStopped = ({ status }: GpuInstance) => status?.actualStatus === 'stopped';
    await life.until('three sleep', () => life.workers().filter(isStopped).length === 3);
    await life.pass(3600);
    const slept = uids(life);
    editTemplate(life, { image: 'example/worker:2' });
    await life.pass(3);
    life.annotate(annotations.wakeAt, 'now');
    await life.pass(1);
    const woken = life
      .workers()
      .filter(({ metadata }) => metadata.annotations?.[annotations.wokenAt] !== undefined);
    expect(woken.map(({ metadata }) => slept.includes(metadata.uid))).toEqual([true]);
    expect(woken.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined]);
  });

  test('that no Service can be written for waits, and the present workers serve on', async () => {
    const life = new SimulatedGroup();
    life.create({ minLoad: '150', endpointName: 'shared' });
    life.create({ minLoad: '50', endpointName: 'shared' }, 'other');
    life.world.startProcess();
    await life.until(
      'all are ready',
      () => life.status().ready === 2 && life.group('other')?.status?.ready === 1,
    );
    const before = uids(life);
    editTemplate(life, {
      ports: [
        { name: 'http', containerPort: 8000 },
        { name: 'metrics', containerPort: 9100 },
      ],
    });
    await life.until('it is told of', () => life.condition('Ready')?.reason === 'NameTaken');
    await life.pass(300);
    expect(uids(life)).toEqual(before);
    life.edit({ endpointName: 'alone' });
    await life.until('two others are ready', () => {
      const { ready, updated } = life.status();
      return ready === 2 && updated === 2 && !uids(life).some((uid) => before.includes(uid));
    });
  });

  test('of which no Service can lead to the workers of the former one replaces them all the same', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '150' });
    await life.until('two are ready', () => life.status().ready === 2);
    const before = uids(life);
    editTemplate(life, { ports: [{ name: 'api', containerPort: 9000 }] });
    await life.until('two others are ready', () => {
      const { ready, updated } = life.status();
      return ready === 2 && updated === 2 && !uids(life).some((uid) => before.includes(uid));
    });
  });
});

describe('a template edit after which every machine still fits (M4)', () => {
  const [a, b] = [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ];
  const offer = { gpuNames: ['RTX 4090', 'RTX 3090'], maxPricePerHour: '0.60' };
  const before = { disk: '64G', env: [a, b], offers: [offer], ports: [{ containerPort: 8000 }] };

  test.each<[string, Record<string, unknown>]>([
    ['a port gets a name', { ports: [{ name: 'http', containerPort: 8000 }] }],
    ['the disk is written in another unit', { disk: '64000M' }],
    ['env has another order', { env: [b, a] }],
    ['gpuNames has another order', { offers: [{ ...offer, gpuNames: ['RTX 3090', 'RTX 4090'] }] }],
    ['an alternative is wider', { offers: [{ ...offer, gpuNames: [...offer.gpuNames, 'RTX 5090'] }] }],
    [
      'there is a further alternative',
      { offers: [{ gpuNames: ['H100 SXM'], maxPricePerHour: '0.60' }, offer] },
    ],
    ['the price limit is higher', { offers: [{ ...offer, maxPricePerHour: '0.90' }] }],
    ['a timeout is longer', { timeouts: { provisioning: '9m', loading: '30m' } }],
  ])('updates the workers in place when %s', async (_, change) => {
    const life = new SimulatedGroup();
    const { template } = groupObject().spec;
    life.begin({ minLoad: '150', template: { spec: { ...template.spec, ...before } } });
    await life.until('two are ready', () => life.status().ready === 2);
    const machines = () => life.workers().map(({ metadata, status }) => [metadata.uid, status?.instanceId]);
    const had = machines();
    editTemplate(life, change);
    await life.pass(5);
    await life.until('both have the new text', () => {
      const { templateHash } = life.status();
      return life
        .workers()
        .every(({ metadata }) => metadata.annotations?.[annotations.templateHash] === templateHash);
    });
    for (const { spec } of life.workers()) expect(spec).toMatchObject(change);
    await life.pass(120);
    expect(machines()).toEqual(had);
    expect(life.status()).toMatchObject({ ready: 2, updated: 2 });
  });
});
