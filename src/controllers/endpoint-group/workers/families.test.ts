import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { API_VERSION, labels } from '../../../api/v1alpha1/names.ts';
import { BY_STEM, Families, groupKeysOf, isChildOf, stemOf } from './families.ts';

const group = groupObject();
const owner = (overrides: object = {}) => ({
  ...{ apiVersion: API_VERSION, kind: 'EndpointGroup', name: 'llm', uid: 'uid-llm', controller: true },
  ...overrides,
});
type Metadata = NonNullable<NonNullable<Parameters<typeof workerObject>[1]>['metadata']>;
const LABELLED: Metadata = { labels: { [labels.endpointGroup]: 'llm' } };
const owned = (overrides: object = {}): Metadata => ({ ...LABELLED, ownerReferences: [owner(overrides)] });

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
  ])('%s', (_, metadata, keys, kind) => {
    const instance = workerObject('w', { metadata });
    const informer = { byIndex: (_index: string, key: string) => (key === 'team/llm' ? [instance] : []) };
    // Nothing else of it is asked.
    const families = new Families(informer as unknown as ConstructorParameters<typeof Families>[0]);
    expect(groupKeysOf(instance)).toEqual(keys);
    expect(isChildOf(instance, group)).toBe(kind === 'child');
    expect(families.childrenOf(group)).toEqual(kind === 'child' ? [instance] : []);
    expect(families.orphansOf(group)).toEqual(kind === 'orphan' ? [instance] : []);
  });
});

test('names that workers of a group might have are those beside it, whatever owns them', () => {
  const instances = [
    workerObject('llm-child', { metadata: owned() }),
    workerObject('llm-released'),
    workerObject('llm-of-another'),
    workerObject('other-released'),
    workerObject('llm'),
    workerObject('alone'),
    workerObject('llm-elsewhere', { metadata: { namespace: 'elsewhere' } }),
  ];
  // Nothing else of it is asked.
  const informer = {
    byIndex: (index: string, key: string) =>
      index === BY_STEM ? instances.filter((instance) => stemOf(instance).includes(key)) : [],
  } as unknown as ConstructorParameters<typeof Families>[0];
  expect(new Families(informer).namesLike(group)).toEqual(new Set(['llm-child', 'llm-released']));
});
