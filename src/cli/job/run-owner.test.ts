import { describe, expect, test } from 'vitest';
import { endingOf, jobOf, type OwnerObject, ownerOf, sharedWork } from './run-owner.ts';

const controller = { apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: 'job-uid', controller: true };

function podWith(owner: object | undefined, annotations: Record<string, string> = {}): OwnerObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{ name: 'train-x7k2p', uid: 'pod-uid', annotations },
      ...(owner && { ownerReferences: [{ ...controller, ...owner }] }),
    },
  };
}

function jobWith(parts: Partial<Pick<OwnerObject, 'spec' | 'status'>>, metadata: object = {}): OwnerObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'train', uid: 'job-uid', ...metadata },
    ...parts,
  };
}

const found = (object: OwnerObject) => ({ type: 'found', object }) as const;
const condition = (type: string, status = 'True') => ({ status: { conditions: [{ type, status }] } });

describe('ownerOf', () => {
  test('makes the Job the owner, without blocking its deletion, when the relay may read it', () => {
    expect(ownerOf(podWith({}), found(jobWith({})))).toEqual({
      reference: {
        ...{ apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: 'job-uid' },
        blockOwnerDeletion: false,
      },
      ownerUid: 'job-uid',
      index: undefined,
    });
  });

  test('makes the Pod the owner when the relay may not read Jobs', () => {
    const owner = ownerOf(podWith({}), { type: 'forbidden' });
    expect(owner?.reference).toEqual({
      ...{ apiVersion: 'v1', kind: 'Pod', name: 'train-x7k2p', uid: 'pod-uid' },
      blockOwnerDeletion: false,
    });
  });

  test.each([
    [{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Workflow' }],
    [{ apiVersion: 'example.com/v1', kind: 'Job' }],
    [{ controller: false }],
    [undefined],
  ])('makes the Pod the owner when %j is no controlling Job', (reference) => {
    const pod = podWith(reference);
    expect(jobOf(pod)).toBeUndefined();
    expect(ownerOf(pod, undefined)?.reference.kind).toBe('Pod');
  });

  test('reads the index of a Pod of an indexed Job', () => {
    const pod = podWith({}, { 'batch.kubernetes.io/job-completion-index': '11' });
    expect(ownerOf(pod, found(jobWith({})))?.index).toBe(11);
  });

  test('names no owner while the reply about the Job is open', () => {
    expect(ownerOf(podWith({}), { type: 'unknown' })).toBeUndefined();
  });
});

describe('sharedWork', () => {
  test.each([
    [{ completions: 3 }, true],
    [{ parallelism: 2 }, true],
    [{ completions: 3, parallelism: 3, completionMode: 'Indexed' }, false],
    [{ completions: 1, parallelism: 1 }, false],
    [{}, false],
  ])('judges a Job with %j', (spec, isShared) => {
    expect(sharedWork(jobWith({ spec })) !== undefined).toBe(isShared);
  });
});

describe('endingOf', () => {
  const owner = ownerOf(podWith({}), found(jobWith({})));
  const podOwner = ownerOf(podWith(undefined), undefined);
  if (!owner || !podOwner) throw new Error('no owner');

  test.each([
    ['absent', { type: 'absent' }],
    ['another Job of the name', found(jobWith({}, { uid: 'other' }))],
    ['being deleted', found(jobWith({}, { deletionTimestamp: '2026-11-20T12:00:00Z' }))],
    ['suspended', found(jobWith({ spec: { suspend: true } }))],
    ['failed', found(jobWith(condition('Failed')))],
    ['about to fail', found(jobWith(condition('FailureTarget')))],
    ['complete', found(jobWith(condition('Complete')))],
  ] as const)('cancels when the Job is %s', (_, reply) => {
    expect(endingOf(owner, reply).cancels).toBe(true);
  });

  test.each([
    ['continues', found(jobWith({}))],
    ['has a condition that is False', found(jobWith(condition('Failed', 'False')))],
    ['was suspended before', found(jobWith(condition('Suspended')))],
    ['cannot be read', { type: 'unknown' }],
    ['may not be read', { type: 'forbidden' }],
  ] as const)('leaves the machine running when the Job %s', (_, reply) => {
    expect(endingOf(owner, reply).cancels).toBe(false);
  });

  test('leaves the machine running when the Pod that owns it is evicted', () => {
    const deleted = { deletionTimestamp: '2026-11-20T12:00:00Z' };
    const pod = podWith(undefined);
    const evicted = {
      ...pod,
      metadata: { ...pod.metadata, ...deleted },
      ...condition('DisruptionTarget'),
    };
    expect(endingOf(podOwner, found(evicted)).cancels).toBe(false);
    expect(endingOf(podOwner, found({ ...pod, metadata: { ...pod.metadata, ...deleted } })).cancels).toBe(
      true,
    );
    expect(endingOf(podOwner, found(pod)).cancels).toBe(false);
  });
});
