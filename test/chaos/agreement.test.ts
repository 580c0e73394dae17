import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { groupObject, workerObject } from '../builders/group-worker.ts';
import { differences, type Seen } from './agreement.ts';

const GOING = { deletionTimestamp: '2026-11-20T12:00:00Z' };

const group = (spec: Record<string, unknown>, decided: number, metadata = {}) => ({
  ...groupObject(spec, { metadata }),
  status: { autoscaling: { total: decided, explanation: 'load 130 needs 2' } as never },
});

function worker(name: string, instanceId: string, of = 'llm'): GpuInstance {
  const owner = { apiVersion: 'gpurental.dev/v1alpha1', kind: 'EndpointGroup', controller: true };
  const ownerReferences = [{ ...owner, name: of, uid: `uid-${of}` }];
  return workerObject(name, { metadata: { ownerReferences }, status: { phase: 'Running', instanceId } });
}

function stopped(instance: GpuInstance): GpuInstance {
  const { spec, status } = instance;
  return { ...instance, spec: { ...spec, powerState: 'Stopped' }, status: { ...status, phase: 'Stopped' } };
}

/** Two hot workers and a cold one, as the load asks; and an instance of no group. */
const AGREED: Seen = {
  billing: ['1', '2', '3', '4'],
  instances: [
    worker('a', '1'),
    worker('b', '2'),
    stopped(worker('c', '3')),
    workerObject('own', { status: { phase: 'Running', instanceId: '4' } }),
  ],
  groups: [group({ load: { type: 'Static', static: { load: '130' } }, coldWorkers: 3 }, 3)],
  published: ['uid-a', 'uid-b'],
  reported: 0,
};
const [a, b, c, own] = AGREED.instances as [GpuInstance, GpuInstance, GpuInstance, GpuInstance];

test('nothing differs where each machine that bills has its object and each group what it was asked for', () => {
  expect(differences(AGREED)).toEqual([]);
});

test('an object that was stopped before it had a machine needs none', () => {
  const never = { ...stopped(own), status: { phase: 'Pending' as const } };
  expect(differences({ ...AGREED, billing: ['1', '2', '3'], instances: [a, b, c, never] })).toEqual([]);
});

describe('what differs is a sentence', () => {
  const rows: readonly (readonly [string, Partial<Seen>, readonly string[]])[] = [
    [
      'a machine of nobody',
      { billing: ['1', '2', '3', '4', '9'] },
      ['machine 9 bills and no object records it'],
    ],
    [
      'a machine that is gone',
      { billing: ['1', '2', '3'] },
      ['own (nothing said yet) records machine 4, which does not bill'],
    ],
    [
      'one machine of two objects',
      { instances: [a, b, c, own, { ...own, metadata: { ...own.metadata, name: 'other' } }] },
      [
        'own (nothing said yet) and other both record machine 4',
        'other (nothing said yet) and own both record machine 4',
      ],
    ],
    [
      'an instance that is not there yet',
      { instances: [a, b, c, { ...own, status: { phase: 'Loading', instanceId: '4' } }] },
      ['own (nothing said yet) is to be running and is Loading'],
    ],
    [
      'one that runs on',
      { instances: [a, b, c, { ...stopped(own), status: { phase: 'Stopping', instanceId: '4' } }] },
      ['own (nothing said yet) is to be stopped and is Stopping'],
    ],
    [
      'one that does not go',
      { instances: [a, b, c, { ...own, metadata: { ...own.metadata, ...GOING } }] },
      ['own (nothing said yet) is still being deleted'],
    ],
    [
      'a worker without its group',
      { instances: [...AGREED.instances, worker('d', '5', 'gone')], billing: ['1', '2', '3', '4', '5'] },
      ['worker d (nothing said yet) is left of the group gone, which is gone'],
    ],
    ['a group that does not go', { groups: [group({}, 3, GOING)] }, ['group llm is still being deleted']],
    [
      'too few hot workers',
      { groups: [group({ replicas: 3 }, 3)] },
      ['group llm needs 3 hot workers and has 2: load 130 needs 2'],
    ],
    [
      'a pool that is too small',
      { groups: [group({ replicas: 2, coldWorkers: 4 }, 3)] },
      ['group llm needs at least 4 workers, decided on 3 and has 3'],
    ],
    [
      'more workers than were decided on',
      { groups: [group({ replicas: 2 }, 2)] },
      ['group llm needs at least 2 workers, decided on 2 and has 3'],
    ],
    ['a worker that nobody is led to', { published: ['uid-a'] }, ['no Service leads to worker b']],
    [
      'a stopped worker that people are led to',
      { published: ['uid-a', 'uid-b', 'uid-c'] },
      ['a Service leads to c, which is stopped'],
    ],
    [
      'a worker that is gone and that people are led to',
      { published: ['uid-a', 'uid-b', 'uid-z'] },
      ['a Service leads to worker uid-z, which is gone'],
    ],
  ];
  test.each(rows)('%s', (_, change, told) => {
    expect(differences({ ...AGREED, ...change })).toEqual(told);
  });
});

test('a group whose workers report is asked for what they report', () => {
  const reported = group({ load: { type: 'Push' }, minLoad: '30' }, 3);
  expect(differences({ ...AGREED, groups: [reported], reported: 130 })).toEqual([]);
  expect(differences({ ...AGREED, groups: [reported], reported: 230 })).toHaveLength(1);
  const [onlyFloor] = differences({ ...AGREED, groups: [reported], reported: 0 });
  expect(onlyFloor).toContain('needs 1 hot workers and has 2');
});
