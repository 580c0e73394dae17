import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { memoryCluster } from '../../../test/builders/memory-cluster.ts';
import { calm } from '../../../test/builders/observed-group.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { silentLogger } from '../../lib/logger.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { OutlookRequest } from './deps.ts';
import { GROUP_REPORTER, groupRecord, LoadStore } from './load/state.ts';
import { Memories } from './memory.ts';
import { type ObserveDeps, observe } from './observe.ts';
import { defaultTimes } from './times.ts';

const BLOCKED = { inHand: new Set<string>(), blocked: { reason: 'NoOffers', detail: 'No offer.' } } as const;

interface Setting {
  readonly group?: EndpointGroup;
  readonly children?: readonly GpuInstance[];
  readonly sources?: Partial<ObserveDeps>;
}

function bench({ group = groupObject({ minLoad: '50' }), children = [], sources }: Setting = {}) {
  const { kube: cluster, clock } = memoryCluster();
  const loadStore = new LoadStore();
  const memory = new Memories({ cluster, clock, loadStore }).of(group);
  const reads: string[] = [];
  const enqueued: string[] = [];
  const requests: OutlookRequest[] = [];
  const deps: ObserveDeps = {
    ...{ clock, cluster, loadStore, memory, times: defaultTimes, log: silentLogger },
    children: {
      read: async () => ({ type: 'known', children, orphans: [], takenNames: new Set(['llm-taken']) }),
    },
    readers: {
      read: async ({ metadata }, { onLate }) => {
        reads.push(metadata.name);
        onLate();
      },
    },
    identities: { view: () => ({ problem: 'no right', isDue: true }) },
    outlook: {
      ask: async (request) => {
        requests.push(request);
        return BLOCKED;
      },
    },
    isFrozen: ({ metadata }) => metadata.name === 'frozen',
    accountCapOf: () => 700_000,
    allowPrivateAddresses: false,
    enqueue: () => enqueued.push('group'),
    aside: (wait) => wait(),
    ...sources,
  };
  const seen = async () => {
    const result = await observe(group, deps);
    if (result.type === 'behind') throw new Error('The cache is behind.');
    return result.observed;
  };
  return { group, clock, loadStore, memory, reads, enqueued, requests, deps, seen };
}

describe('an observation', () => {
  test('contains the present workers, account and Secrets', async () => {
    const { seen } = bench({ children: [workerObject('a'), workerObject('frozen')] });
    const { workers, account, publication } = await seen();
    expect(workers.all.map(({ name, isServing }) => [name, isServing])).toEqual([
      ['a', true],
      ['frozen', true],
    ]);
    expect(workers.takenNames).toEqual(new Set(['llm-taken']));
    expect(account).toEqual({ frozen: new Set(['uid-frozen']), cap: 700_000 });
    expect(publication).toMatchObject({
      service: { type: 'done' },
      identity: { problem: 'no right', isDue: true },
    });
  });

  test('is missing while the cache of workers is behind', async () => {
    const behind = { type: 'behind', afterMs: 40 } as const;
    const { group, deps, reads } = bench({ sources: { children: { read: async () => behind } } });
    expect(await observe(group, deps)).toEqual(behind);
    expect(reads).toEqual([]);
  });

  test('reads the load only when a tick is due', async () => {
    const { group, seen, reads, memory, clock } = bench();
    expect((await seen()).clock).toMatchObject({ isTick: true, now: clock.now() });
    memory.recorded(group, calm(0, { nextTickAt: clock.now() + defaultTimes.tickMs }));
    expect((await seen()).clock.isTick).toBe(false);
    expect(reads).toEqual(['llm']);
  });

  test('contains late figures and a wake until they are recorded', async () => {
    const { group, seen, memory, clock, enqueued } = bench();
    const recorded = () => memory.recorded(group, calm(0, { nextTickAt: clock.now() + defaultTimes.tickMs }));
    recorded();
    memory.lateFigures.ask();
    memory.wake.ask();
    expect((await seen()).load).toMatchObject({ hasLateFigures: true, wakeAsked: true });
    recorded();
    expect((await seen()).load).toMatchObject({ hasLateFigures: false, wakeAsked: false });
    expect(enqueued).toEqual([]);
  });

  test('enqueues the group when figures arrive late', async () => {
    const { seen, enqueued } = bench();
    expect((await seen()).load.hasLateFigures).toBe(false);
    expect(enqueued).toEqual(['group']);
  });

  test.each([
    ['without former machines when workers report', {}, 0],
    ['of the whole group when it has one source', { load: { type: 'Static', static: { load: '5' } } }, 1],
  ])('keeps the load %s', async (_, spec, reporters) => {
    const { group, seen, loadStore, clock } = bench({ group: groupObject(spec) });
    const report = {
      reporter: GROUP_REPORTER,
      record: groupRecord(5, 0),
      at: clock.now(),
      times: defaultTimes,
    };
    loadStore.report(uidOf(group), report);
    expect((await seen()).load.state.reporters.size).toBe(reporters);
  });
});

describe('the outlook for a template', () => {
  const { status } = workerObject('a');
  const annotations = { 'gpurental.dev/template-hash': 'v1:0000000000000000' };
  const outdated = workerObject('a', {
    annotations,
    ...(status && { status: { ...status, specHash: 'v2:0000000000000000' } }),
  });

  test('is not requested when no worker would be replaced', async () => {
    const { seen, requests } = bench({ children: [workerObject('a')] });
    expect((await seen()).workers.outlook).toBeUndefined();
    expect(requests).toEqual([]);
  });

  test('is requested for each outdated worker with the template applied', async () => {
    const group = groupObject({
      minLoad: '50',
      template: { spec: { image: 'example/worker:2', offers: [{ maxPricePerHour: '0.60' }] } },
    });
    const { seen, requests } = bench({ group, children: [outdated] });
    expect((await seen()).workers.outlook).toBe(BLOCKED);
    const workers = await requests[0]?.workers();
    expect(workers?.map(({ metadata, spec }) => [metadata.name, spec.image])).toEqual([
      ['a', 'example/worker:2'],
    ]);
  });
});
