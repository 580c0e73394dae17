import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations, labels } from '../../api/v1alpha1/names.ts';
import { type RunKey, runLabel, runName } from './run-name.ts';
import { runStep } from './run-step.ts';

const KEY: RunKey = { ownerUid: '6f1c2a9e-0d5b-4f63-9f1e-5b7c7d0a1e11', index: 0 };

interface Made {
  readonly key?: RunKey;
  readonly attempt?: number;
  readonly succeeded?: 'True' | 'False' | 'Unknown';
  readonly reported?: boolean;
  readonly cancelled?: boolean;
  readonly instanceId?: string;
  readonly deleted?: boolean;
  readonly name?: string;
  /** Uid in its owner reference. */
  readonly owner?: string;
}

function made({
  key = KEY,
  attempt = 0,
  succeeded,
  reported,
  cancelled,
  instanceId,
  deleted,
  name,
  owner,
}: Made): GpuInstance {
  return {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'GpuInstance',
    metadata: {
      name: name ?? runName(key, attempt),
      labels: { [labels.jobRun]: runLabel(key) },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'train', uid: owner ?? key.ownerUid }],
      annotations: {
        [annotations.jobTry]: String(attempt),
        ...(reported && { [annotations.jobReported]: 'train-x7k2p' }),
        ...(cancelled && { [annotations.cancelAt]: '2026-11-20T12:00:00Z' }),
      },
      ...(deleted && { deletionTimestamp: '2026-11-20T12:00:00Z' }),
    },
    spec: { completion: {} },
    status: {
      ...(instanceId !== undefined && { instanceId }),
      ...(succeeded && {
        conditions: [{ type: 'Succeeded', status: succeeded, reason: 'X', message: 'y' }],
      }),
    },
  } as unknown as GpuInstance;
}

describe('runName', () => {
  test('derives one valid name from owner, index and try, and another from any other', () => {
    const keys = [KEY, { ...KEY, index: 1 }, { ...KEY, index: undefined }, { ...KEY, ownerUid: 'other' }];
    const names = keys.flatMap((key) => [0, 1].map((attempt) => runName(key, attempt)));
    expect(new Set(names).size).toBe(8);
    for (const name of names) expect(name).toMatch(/^job-[0-9a-f]{10}$/);
    expect(runName({ ...KEY }, 0)).toBe(names[0]);
  });
});

describe('runStep', () => {
  test('creates the first try when nothing exists', () => {
    expect(runStep([], KEY)).toEqual({ type: 'create', attempt: 0 });
  });

  test.each([
    ['runs', {}],
    ['runs with condition Unknown', { succeeded: 'Unknown' }],
    ['succeeded', { succeeded: 'True', reported: true }],
    ['failed and no Pod reported that', { succeeded: 'False' }],
  ] as const)('attaches when the object %s', (_, parts) => {
    const object = made(parts);
    expect(runStep([object], KEY)).toEqual({ type: 'attach', object });
  });

  test('creates the next try when a Pod has reported the failure', () => {
    const object = made({ attempt: 4, succeeded: 'False', reported: true });
    const step = runStep([made({ attempt: 3, succeeded: 'False', reported: true }), object], KEY);
    expect(step).toEqual({ type: 'create', attempt: 5, supersedes: object });
  });

  test('refuses another try while the failed one keeps its machine', () => {
    const object = made({ succeeded: 'False', reported: true, instanceId: '20000003' });
    expect(runStep([object], KEY)).toMatchObject({ type: 'refuse', reason: 'MachineKept' });
  });

  test('waits while the object is being deleted', () => {
    const object = made({ deleted: true });
    expect(runStep([object], KEY)).toEqual({ type: 'wait', name: object.metadata.name, until: 'is deleted' });
  });

  test('waits for the end of a run that a relay has cancelled, since its owner goes on again', () => {
    const object = made({ reported: true, cancelled: true });
    expect(runStep([object], KEY)).toEqual({ type: 'wait', name: object.metadata.name, until: 'has ended' });
    const ended = made({ reported: true, cancelled: true, succeeded: 'False' });
    expect(runStep([ended], KEY)).toEqual({ type: 'create', attempt: 1, supersedes: ended });
  });

  test('attaches to a run that a person has cancelled', () => {
    const object = made({ cancelled: true });
    expect(runStep([object], KEY)).toEqual({ type: 'attach', object });
  });

  test.each([
    ['another owner', made({ key: { ...KEY, ownerUid: 'other' } })],
    ['a copied name and label', made({ owner: 'other' })],
    ['another index', made({ key: { ...KEY, index: 1 } })],
    ['a copied label and another name', made({ name: 'trainer' })],
  ])('does not attach to an object of %s', (_, object) => {
    expect(runStep([object], KEY)).toEqual({ type: 'create', attempt: 0 });
  });
});
