import { describe, expect, test } from 'vitest';
import { memoryCluster } from '../../test/builders/memory-cluster.ts';
import type { ObjectMeta } from '../lib/object-meta.ts';
import { configMapResource, secretResource } from './kube/core-resources.ts';
import { controllerReference, isControlledBy, type KubeObject, objectKey } from './kube/kube-object.ts';
import type { Informer } from './list-watch/informer.ts';
import {
  BY_STEM,
  indexOfOwners,
  OwnedObjects,
  type OwnerKind,
  ownerKeysOf,
  stemOf,
} from './owned-objects.ts';

/** Any two kinds that the cluster serves: ConfigMaps own Secrets here. */
const crates = configMapResource;
const items = secretResource;
const by: OwnerKind = { kind: crates.kind, label: 'g/crate' };

const crateObject = (): KubeObject => ({
  apiVersion: 'v1',
  kind: crates.kind,
  metadata: { namespace: 'team', name: 'llm', uid: 'uid-llm' },
});
const itemObject = (name: string, metadata: Partial<ObjectMeta> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: items.kind,
  metadata: { namespace: 'team', name, uid: `uid-${name}`, ...metadata },
});

const NAMESPACE = 'default';

/** Returns a copy of the workers that receives a change when the test decides. */
async function bench() {
  const cluster = memoryCluster();
  const { metadata: _, ...body } = crateObject();
  const metadata = { name: 'llm', namespace: NAMESPACE };
  const crate = await cluster.kube.create<KubeObject>(crates, { ...body, metadata });
  const copy = new Map<string, KubeObject>();
  const written = new Map<string, string>();
  const informer = {
    get: (key: string) => copy.get(key),
    keep: (object: KubeObject) => object,
    byIndex: () => [...copy.values()],
    list: () => [...copy.values()],
    isCurrent: (key: string) =>
      !written.has(key) || copy.get(key)?.metadata.resourceVersion === written.get(key),
    wrote: ({ metadata: { resourceVersion = '', ...rest } }: KubeObject) =>
      void written.set(objectKey(rest), resourceVersion),
  } as unknown as Informer<KubeObject>;
  const { kube, clock } = cluster;
  const children = new OwnedObjects({ informer, client: kube, clock, resource: items, by });
  const make = async (name: string) => {
    const { metadata: _metadata, ...item } = itemObject(name);
    const ownerReferences = [controllerReference(crate)];
    const made = { name, namespace: NAMESPACE, labels: { [by.label]: 'llm' }, ownerReferences };
    return kube.create<KubeObject>(items, { ...item, metadata: made });
  };
  const hear = (object: KubeObject) => void copy.set(objectKey(object.metadata), object);
  const names = async () => {
    const look = await children.read(crate);
    return look.type === 'known' ? look.children.map(({ metadata: { name } }) => name) : look;
  };
  return { crate, children, make, hear, names, clock, kube, copy };
}

describe('the objects of an owner', () => {
  test('are those of the copy, while it has seen what this process wrote', async () => {
    const { crate, make, hear, names, children } = await bench();
    hear(await make('a'));
    const b = await make('b');
    children.wrote(crate, b);
    hear(b);
    expect(await names()).toEqual(['a', 'b']);
  });

  test('are waited for while the copy is behind, and asked for where it missed the event', async () => {
    const { crate, make, names, children, clock } = await bench();
    children.wrote(crate, await make('a'));
    expect(await names()).toEqual({ type: 'behind', afterMs: 20 });
    await clock.advance(2000);
    expect(await names()).toEqual(['a']);
    expect(await names()).toEqual(['a']);
  });

  test('of another owner are not waited for', async () => {
    const { crate, make, children } = await bench();
    children.wrote(crate, await make('a'));
    const other = { ...crate, metadata: { ...crate.metadata, name: 'other', uid: 'uid-other' } };
    const nothing = { children: [], orphans: [], takenNames: new Set() };
    expect(await children.read(other)).toEqual({ type: 'known', ...nothing });
    expect(await children.read(crate)).toEqual({ type: 'behind', afterMs: 20 });
  });

  test('are gone when they are gone, although the copy missed that', async () => {
    const { crate, make, hear, names, children, clock, kube } = await bench();
    const a = await make('a');
    hear({ ...a, metadata: { ...a.metadata, resourceVersion: '1' } });
    children.wrote(crate, a);
    await kube.delete(items, { namespace: NAMESPACE, name: 'a' });
    await names();
    await clock.advance(2000);
    expect(await names()).toEqual([]);
  });

  test('are never those of an earlier owner of the same name', async () => {
    const { make, hear, names } = await bench();
    const a = await make('a');
    const [owner] = a.metadata.ownerReferences ?? [];
    if (!owner) throw new Error('It has no owner.');
    hear({ ...a, metadata: { ...a.metadata, ownerReferences: [{ ...owner, uid: 'before' }] } });
    expect(await names()).toEqual([]);
  });
});

describe('before an object is created', () => {
  test('lists at the API server, and reads from then on what the copy missed', async () => {
    const { crate, make, hear, names, children } = await bench();
    const a = await make('a');
    hear(a);
    expect(await children.isComplete(crate, [a])).toBe(true);
    await make('b');
    expect(await children.isComplete(crate, [a])).toBe(false);
    expect(await names()).toEqual(['a', 'b']);
  });
});

const crate = crateObject();
const owner = (overrides: object = {}) => ({
  ...{ apiVersion: 'v1', kind: crates.kind, name: 'llm', uid: 'uid-llm', controller: true },
  ...overrides,
});
type Metadata = Partial<ObjectMeta>;
const LABELLED: Metadata = { labels: { [by.label]: 'llm' } };
const owned = (overrides: object = {}): Metadata => ({ ...LABELLED, ownerReferences: [owner(overrides)] });

/** Reads the workers of the group from the indexes alone, if nothing is in doubt. */
const readFrom = (informer: Pick<Informer<KubeObject>, 'byIndex'>) => {
  const { kube: client, clock } = memoryCluster();
  return new OwnedObjects({
    informer: informer as Informer<KubeObject>,
    client,
    clock,
    resource: items,
    by,
  }).read(crate);
};

describe('an object', () => {
  test.each<[string, Metadata, readonly string[], 'child' | 'orphan' | 'neither']>([
    ['without an owner belongs to none', {}, [], 'neither'],
    ['of an owner is its child', owned(), ['team/llm'], 'child'],
    [
      'that was relabelled stays the child of its controller',
      { ...owned(), labels: { [by.label]: 'other' } },
      ['team/llm', 'team/other'],
      'child',
    ],
    ['of an earlier owner of that name is not its child', owned({ uid: 'before' }), ['team/llm'], 'neither'],
    ['with the label and without a controller is an orphan', LABELLED, ['team/llm'], 'orphan'],
    ['that the owner does not control is an orphan', owned({ controller: false }), ['team/llm'], 'orphan'],
    [
      'without a controller that is being deleted is no orphan',
      { ...LABELLED, deletionTimestamp: '2026-11-20T11:59:00Z' },
      ['team/llm'],
      'neither',
    ],
    [
      'with the label of another owner is none of this one',
      { labels: { [by.label]: 'other' } },
      ['team/other'],
      'neither',
    ],
    [
      'of another kind of controller belongs to none',
      { ownerReferences: [owner({ kind: 'Job', uid: 'uid-job' })] },
      [],
      'neither',
    ],
  ])('%s', async (_, metadata, keys, kind) => {
    const object = itemObject('w', metadata);
    const informer = {
      byIndex: (index: string, key: string) =>
        index === indexOfOwners(by) && key === 'team/llm' ? [object] : [],
    };
    expect(ownerKeysOf(object, by)).toEqual(keys);
    expect(isControlledBy(object, crate)).toBe(kind === 'child');
    expect(await readFrom(informer)).toMatchObject({
      children: kind === 'child' ? [object] : [],
      orphans: kind === 'orphan' ? [object] : [],
    });
  });
});

test('reads the names beside an owner that its generated names might meet, whatever owns them', async () => {
  const objects = [
    itemObject('llm-child', owned()),
    itemObject('llm-released'),
    itemObject('llm-of-another'),
    itemObject('other-released'),
    itemObject('llm'),
    itemObject('alone'),
    itemObject('llm-elsewhere', { namespace: 'elsewhere' }),
  ];
  const informer = {
    byIndex: (index: string, key: string) =>
      index === BY_STEM ? objects.filter((object) => stemOf(object).includes(key)) : [],
  };
  expect(await readFrom(informer)).toMatchObject({ takenNames: new Set(['llm-child', 'llm-released']) });
});

test.each([
  ['llm-7', ['team/llm']],
  ['my-llm-7', ['team/my-llm']],
  ['alone', []],
])('indexes the name %s under %j', (name, stems) => {
  expect(stemOf(itemObject(name))).toEqual(stems);
});
