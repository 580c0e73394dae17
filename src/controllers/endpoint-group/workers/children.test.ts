import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { memoryCluster } from '../../../../test/builders/memory-cluster.ts';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import {
  API_VERSION,
  endpointGroupResource,
  gpuInstanceResource,
  labels,
} from '../../../api/v1alpha1/names.ts';
import { controllerReference, objectKey } from '../../../runtime/kube/kube-object.ts';
import type { Informer } from '../../../runtime/list-watch/informer.ts';
import { BY_GROUP, BY_STEM, Children, groupKeysOf, stemOf } from './children.ts';
import { isChildOf } from './worker.ts';

const NAMESPACE = 'default';

/** A copy of the workers that hears of a change when the test says so. */
async function bench() {
  const cluster = memoryCluster();
  const { metadata: _, ...body } = groupObject();
  const metadata = { name: 'llm', namespace: NAMESPACE };
  const group = await cluster.kube.create<EndpointGroup>(endpointGroupResource, { ...body, metadata });
  const copy = new Map<string, GpuInstance>();
  const written = new Map<string, string>();
  const instances = {
    get: (key: string) => copy.get(key),
    keep: (worker: GpuInstance) => worker,
    byIndex: () => [...copy.values()],
    list: () => [...copy.values()],
    isCurrent: (key: string) =>
      !written.has(key) || copy.get(key)?.metadata.resourceVersion === written.get(key),
    wrote: ({ metadata: { resourceVersion = '', ...rest } }: GpuInstance) =>
      void written.set(objectKey(rest), resourceVersion),
  } as unknown as Informer<GpuInstance>;
  const { kube, clock } = cluster;
  const children = new Children({ instances, client: kube, clock });
  const make = async (name: string) => {
    const { metadata: _metadata, ...worker } = workerObject(name);
    const ownerReferences = [controllerReference(group)];
    const made = { name, namespace: NAMESPACE, labels: { [labels.endpointGroup]: 'llm' }, ownerReferences };
    return kube.create<GpuInstance>(gpuInstanceResource, { ...worker, metadata: made });
  };
  const hear = (worker: GpuInstance) => void copy.set(objectKey(worker.metadata), worker);
  const names = async () => {
    const look = await children.read(group);
    return look.type === 'known' ? look.children.map(({ metadata: { name } }) => name) : look;
  };
  return { group, children, make, hear, names, clock, kube, copy };
}

describe('the workers of a group', () => {
  test('are those of the copy, while it has seen what this process wrote', async () => {
    const { group, make, hear, names, children } = await bench();
    hear(await make('a'));
    const b = await make('b');
    children.wrote(group, b);
    hear(b);
    expect(await names()).toEqual(['a', 'b']);
  });

  test('are waited for while the copy is behind, and asked for where it missed the event', async () => {
    const { group, make, names, children, clock } = await bench();
    children.wrote(group, await make('a'));
    expect(await names()).toEqual({ type: 'behind', afterMs: 20 });
    await clock.advance(2000);
    expect(await names()).toEqual(['a']);
    expect(await names()).toEqual(['a']);
  });

  test('of another group are not waited for', async () => {
    const { group, make, children } = await bench();
    children.wrote(group, await make('a'));
    const other = { ...group, metadata: { ...group.metadata, name: 'other', uid: 'uid-other' } };
    const noWorkers = { children: [], orphans: [], takenNames: new Set() };
    expect(await children.read(other)).toEqual({ type: 'known', ...noWorkers });
    expect(await children.read(group)).toEqual({ type: 'behind', afterMs: 20 });
  });

  test('are gone when they are gone, although the copy missed that', async () => {
    const { group, make, hear, names, children, clock, kube } = await bench();
    const a = await make('a');
    hear({ ...a, metadata: { ...a.metadata, resourceVersion: '1' } });
    children.wrote(group, a);
    await kube.delete(gpuInstanceResource, { namespace: NAMESPACE, name: 'a' });
    await names();
    await clock.advance(2000);
    expect(await names()).toEqual([]);
  });

  test('are never those of a group of the same name before it', async () => {
    const { make, hear, names } = await bench();
    const a = await make('a');
    const [owner] = a.metadata.ownerReferences ?? [];
    if (!owner) throw new Error('It has no owner.');
    hear({ ...a, metadata: { ...a.metadata, ownerReferences: [{ ...owner, uid: 'before' }] } });
    expect(await names()).toEqual([]);
  });
});

describe('before a worker is made', () => {
  test('the API server is asked for those that the copy missed, and they are seen from then on', async () => {
    const { group, make, hear, names, children } = await bench();
    const a = await make('a');
    hear(a);
    expect(await children.isComplete(group, [a])).toBe(true);
    await make('b');
    expect(await children.isComplete(group, [a])).toBe(false);
    expect(await names()).toEqual(['a', 'b']);
  });
});

const group = groupObject();
const owner = (overrides: object = {}) => ({
  ...{ apiVersion: API_VERSION, kind: 'EndpointGroup', name: 'llm', uid: 'uid-llm', controller: true },
  ...overrides,
});
type Metadata = NonNullable<NonNullable<Parameters<typeof workerObject>[1]>['metadata']>;
const LABELLED: Metadata = { labels: { [labels.endpointGroup]: 'llm' } };
const owned = (overrides: object = {}): Metadata => ({ ...LABELLED, ownerReferences: [owner(overrides)] });

/** Reads the workers of the group where nothing is in doubt: only the indexes are asked. */
const readFrom = (informer: Pick<Informer<GpuInstance>, 'byIndex'>) => {
  const { kube: client, clock } = memoryCluster();
  return new Children({ instances: informer as Informer<GpuInstance>, client, clock }).read(group);
};

describe('a GpuInstance', () => {
  test.each<[string, Metadata, readonly string[], 'child' | 'orphan' | 'neither']>([
    ['of nobody belongs to nobody', {}, [], 'neither'],
    ['of a group is its child', owned(), ['team/llm'], 'child'],
    [
      'that was relabelled stays the child of who controls it',
      { ...owned(), labels: { [labels.endpointGroup]: 'other' } },
      ['team/llm', 'team/other'],
      'child',
    ],
    ['of an earlier group of that name is not its child', owned({ uid: 'before' }), ['team/llm'], 'neither'],
    ['with the label and without a controller is an orphan', LABELLED, ['team/llm'], 'orphan'],
    [
      'that the group owns and does not control is an orphan',
      owned({ controller: false }),
      ['team/llm'],
      'orphan',
    ],
    [
      'without a controller that is on its way out is left to go',
      { ...LABELLED, deletionTimestamp: '2026-11-20T11:59:00Z' },
      ['team/llm'],
      'neither',
    ],
    [
      'with the label of another group is none of this one',
      { labels: { [labels.endpointGroup]: 'other' } },
      ['team/other'],
      'neither',
    ],
    [
      'of another kind of controller is none of a group',
      { ownerReferences: [owner({ kind: 'Job', uid: 'uid-job' })] },
      [],
      'neither',
    ],
  ])('%s', async (_, metadata, keys, kind) => {
    const instance = workerObject('w', { metadata });
    const informer = {
      byIndex: (index: string, key: string) => (index === BY_GROUP && key === 'team/llm' ? [instance] : []),
    };
    expect(groupKeysOf(instance)).toEqual(keys);
    expect(isChildOf(instance, group)).toBe(kind === 'child');
    expect(await readFrom(informer)).toMatchObject({
      children: kind === 'child' ? [instance] : [],
      orphans: kind === 'orphan' ? [instance] : [],
    });
  });
});

test('names that workers of a group might have are those beside it, whatever owns them', async () => {
  const instances = [
    workerObject('llm-child', { metadata: owned() }),
    workerObject('llm-released'),
    workerObject('llm-of-another'),
    workerObject('other-released'),
    workerObject('llm'),
    workerObject('alone'),
    workerObject('llm-elsewhere', { metadata: { namespace: 'elsewhere' } }),
  ];
  const informer = {
    byIndex: (index: string, key: string) =>
      index === BY_STEM ? instances.filter((instance) => stemOf(instance).includes(key)) : [],
  };
  expect(await readFrom(informer)).toMatchObject({ takenNames: new Set(['llm-child', 'llm-released']) });
});

test.each([
  ['llm-7', ['team/llm']],
  ['my-llm-7', ['team/my-llm']],
  ['alone', []],
])('indexes the worker name %s under %j', (name, stems) => {
  expect(stemOf(workerObject(name))).toEqual(stems);
});
