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

describe('wakeSinceOf', () => {
  test.each<[string, Status, number]>([
    ['is the time of the wake', says('Starting'), WOKEN],
    ['is the time of the wake while the host refuses the start', says('CannotStart'), WOKEN],
    [
      'is the time of the start request when that was later',
      { ...says('Starting'), startRequestedAt: '2026-11-20T11:59:30Z' },
      Date.parse('2026-11-20T11:59:30Z'),
    ],
    [
      'is the time of the wake for a machine from before the wake',
      { rentals: ['2026-11-20T11:58:59Z'] },
      WOKEN,
    ],
    ['is the time of the wake one second after the rental', { rentals: ['2026-11-20T11:58:59.500Z'] }, WOKEN],
  ])('%s', (_, status, at) => {
    expect(since(status)).toBe(at);
  });

  test.each<[string, Status, number?]>([
    ['is undefined while a limit of the account delays the start', says('AtLimit')],
    ['is undefined while the account is not ready', says('AccountNotReady')],
    ['is undefined while credit is insufficient', says('InsufficientCredit')],
    ['is undefined while the marketplace is unreachable', says('Unreachable')],
    ['is undefined for a machine rented after the wake', { rentals: ['2026-11-20T11:59:00Z'] }],
    ['is undefined for a lost machine', { instanceId: undefined }],
    ['is undefined until the present spec is reconciled', {}, 2],
  ])('%s', (_, status, generation) => {
    expect(since(status, generation)).toBeUndefined();
  });

  test('is undefined without a wake', () => {
    expect(wakeSinceOf(workerObject('w'), undefined)).toBeUndefined();
  });

  test('is undefined without a status', () => {
    const { status: _unknown, ...object } = workerObject('w');
    expect(wakeSinceOf(object, WOKEN)).toBeUndefined();
  });
});
