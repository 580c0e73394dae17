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

describe('hasEndedForGood', () => {
  test.each<[string, Parameters<typeof workerObject>[1], boolean]>([
    ['is true after a limit was reached', { status: stalled('LimitReached') }, true],
    [
      'is true after a loss when the policy forbids a replacement',
      { status: stalled('ReplacementOff') },
      true,
    ],
    ['is true after the loss of a stopped machine', { spec: STOPPED, status: asleep }, true],
    ['is false while a person must decide', { status: stalled('VanishedHeld') }, false],
    ['is false while a replacement is pending', { status: asleep }, false],
    [
      'is false while the machine stops',
      {
        spec: STOPPED,
        status: { ...asleep, conditions: [because('Ready', 'False', 'Stopping')] },
      },
      false,
    ],
    ['is false while it has a machine', { status: { ...stalled('LimitReached'), instanceId: '7' } }, false],
    ['is false if it never had a machine', { spec: STOPPED, status: { ...asleep, history: [] } }, false],
    [
      'is false before its present spec is reconciled',
      { status: stalled('LimitReached'), metadata: { generation: 2 } },
      false,
    ],
    ['is false without a status', { spec: STOPPED, status: {} }, false],
  ])('%s', (_, more, ended) => {
    expect(hasEndedForGood(workerObject('w', more), NOW)).toBe(ended);
  });

  test('is true at most maxPerHour times an hour', () => {
    const spec = { replacement: { maxPerHour: 4 } };
    const object = workerObject('w', { spec, status: stalled('LimitReached') });
    const born = Date.parse(object.metadata.creationTimestamp ?? '');
    expect(hasEndedForGood(object, born + 15 * MINUTE - 1)).toBe(false);
    expect(hasEndedForGood(object, born + 15 * MINUTE)).toBe(true);
  });
});
