import { describe, expect, test } from 'vitest';
import { condition, workerObject } from '../../../../test/builders/group-worker.ts';
import { NOW } from '../../../../test/builders/observed-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { hasEndedForGood } from './worker.ts';

type Status = NonNullable<GpuInstance['status']>;
const MINUTE = 60_000;
const AT = '2026-11-20T11:30:00Z';

const because = (type: string, status: 'True' | 'False', reason: string) => ({
  ...condition(type, status, AT),
  reason,
});
const past: NonNullable<Status['history']> = [
  { attempt: 1, instanceId: '7', reason: 'Vanished', endedAt: AT, rentedMinutes: 5, cost: '0.01' },
];
const stalled = (reason: string): Status => ({
  observedGeneration: 1,
  history: past,
  conditions: [because('Stalled', 'True', reason)],
});
const asleep: Status = {
  observedGeneration: 1,
  history: past,
  conditions: [because('Ready', 'True', 'Stopped')],
};
const STOPPED = { powerState: 'Stopped' };

describe('the machine of a worker has ended for good', () => {
  test.each<[string, Parameters<typeof workerObject>[1], boolean]>([
    ['where a limit was reached', { status: stalled('LimitReached') }, true],
    ['where it was lost and no other may come', { status: stalled('ReplacementOff') }, true],
    ['where it was lost in its sleep', { spec: STOPPED, status: asleep }, true],
    ['not where a person is to look first', { status: stalled('VanishedHeld') }, false],
    ['not where another is to come', { status: asleep }, false],
    [
      'not while it is only on its way to sleep',
      {
        spec: STOPPED,
        status: { ...asleep, conditions: [because('Ready', 'False', 'Stopping')] },
      },
      false,
    ],
    ['not while it has one', { status: { ...stalled('LimitReached'), instanceId: '7' } }, false],
    ['not where it never had one', { spec: STOPPED, status: { ...asleep, history: [] } }, false],
    [
      'not before its spec was looked at',
      { status: stalled('LimitReached'), metadata: { generation: 2 } },
      false,
    ],
    ['not where nothing is known of it', { spec: STOPPED, status: {} }, false],
  ])('%s', (_, more, ended) => {
    expect(hasEndedForGood(workerObject('w', more), NOW)).toBe(ended);
  });

  test('as often as machines may be rented in an hour', () => {
    const spec = { replacement: { maxPerHour: 4 } };
    const object = workerObject('w', { spec, status: stalled('LimitReached') });
    const born = Date.parse(object.metadata.creationTimestamp ?? '');
    expect(hasEndedForGood(object, born + 15 * MINUTE - 1)).toBe(false);
    expect(hasEndedForGood(object, born + 15 * MINUTE)).toBe(true);
  });
});
