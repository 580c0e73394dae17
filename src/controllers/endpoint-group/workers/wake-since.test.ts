import { describe, expect, test } from 'vitest';
import { condition, workerObject } from '../../../../test/builders/group-worker.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { wakeSinceOf } from './worker.ts';

type Status = NonNullable<GpuInstance['status']>;
const WOKEN = Date.parse('2026-11-20T11:59:00.500Z');

function since(status: Status, generation = 1, wokenAt: number | undefined = WOKEN): number | undefined {
  const object = workerObject('w', {
    status: { observedGeneration: 1, instanceId: '7', ...status },
    metadata: { generation },
  });
  return wakeSinceOf(object, wokenAt);
}
const says = (reason: string): Status => ({
  conditions: [{ ...condition('Ready', 'False', '2026-11-20T11:59:01Z'), reason }],
});

describe('a machine could have started', () => {
  test.each<[string, Status, number]>([
    ['since it was woken', says('Starting'), WOKEN],
    ['since then, too, where its host refuses the start', says('CannotStart'), WOKEN],
    [
      'since it was asked to, where that was later',
      { ...says('Starting'), startRequestedAt: '2026-11-20T11:59:30Z' },
      Date.parse('2026-11-20T11:59:30Z'),
    ],
    ['since it was woken, where it is an older one', { rentals: ['2026-11-20T11:58:59Z'] }, WOKEN],
    [
      'since it was woken, where the second in which it was rented was over by then',
      { rentals: ['2026-11-20T11:58:59.500Z'] },
      WOKEN,
    ],
  ])('%s', (_, status, at) => {
    expect(since(status)).toBe(at);
  });

  test.each<[string, Status, number?]>([
    ['while a limit of the account forbids it', says('AtLimit')],
    ['while the account may not be used', says('AccountNotReady')],
    ['while the credit does not suffice', says('InsufficientCredit')],
    ['while the marketplace does not answer', says('Unreachable')],
    ['where it was rented since the wake', { rentals: ['2026-11-20T11:59:00Z'] }],
    ['where it was lost', { instanceId: undefined }],
    ['while nobody has looked at it since', {}, 2],
  ])('at no time %s', (_, status, generation) => {
    expect(since(status, generation)).toBeUndefined();
  });

  test('at no time when it was not woken', () => {
    expect(wakeSinceOf(workerObject('w'), undefined)).toBeUndefined();
  });

  test('at no time where nothing is known of it yet', () => {
    const { status: _unknown, ...object } = workerObject('w');
    expect(wakeSinceOf(object, WOKEN)).toBeUndefined();
  });
});
