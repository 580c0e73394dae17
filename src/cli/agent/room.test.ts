import { expect, test } from 'vitest';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import { beforeLater, beside, costNow, hasEnded, isPending, roomFor } from './room.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const LIMITS = { maxTotal: 10_000_000, maxMachines: 3 };

interface Sketch {
  readonly uid?: string;
  readonly maxCost?: string;
  readonly created?: string;
  readonly spent?: string;
  readonly machine?: boolean;
  readonly ended?: boolean;
  readonly pending?: boolean;
  readonly paused?: boolean;
  readonly maxTotalCost?: string;
}

function object(sketch: Sketch = {}): GpuInstance {
  const { uid = 'a', maxCost = '4', spent = '0', machine = false, ended = false, pending = false } = sketch;
  return {
    metadata: {
      name: uid,
      uid,
      generation: 1,
      creationTimestamp: sketch.created ?? '2026-11-30T11:00:00Z',
      annotations: {
        [annotations.agentMaxCost]: maxCost,
        ...(pending && { [annotations.agentPending]: '2026-11-30T11:00:00Z' }),
      },
    },
    spec: { paused: sketch.paused ?? pending, maxTotalCost: sketch.maxTotalCost ?? maxCost },
    status: {
      observedGeneration: 1,
      ...(machine && { instanceId: '1' }),
      cost: { accrued: spent, ...(machine && { pricePerHour: '2' }) },
      conditions: [{ type: 'Ready', reason: ended ? 'LimitReached' : 'Ready' }],
    },
  } as unknown as GpuInstance;
}

const budget = (perMonth: string, spentThisMonth = '0', action = 'Block'): SpendBudget =>
  ({ metadata: { name: 'team' }, spec: { perMonth, action }, status: { spentThisMonth } }) as SpendBudget;

const room = (ceiling: number, objects: readonly GpuInstance[], budgets: readonly SpendBudget[] = []) =>
  roomFor(ceiling * 1e6, { objects, budgets }, LIMITS, NOW);

test('counts the ceiling of a live object and the cost of an ended one', () => {
  expect(room(6, [object()])).toBeUndefined();
  expect(room(6.1, [object()])).toMatchObject({ reason: 'AtServerLimit', passes: false });
  expect(room(9.5, [object({ ended: true, spent: '0.5' })])).toBeUndefined();
  expect(room(9.6, [object({ ended: true, spent: '0.5' })])?.message).toContain(
    '$9.50 of $10.00 (--max-total)',
  );
});

test('counts the ceiling of its creation until an object that is being stopped has ended', () => {
  expect(room(6.1, [object({ maxTotalCost: '0', machine: true })])).toMatchObject({
    reason: 'AtServerLimit',
  });
});

test('has no room for anything beside an object without a ceiling', () => {
  const endless = object();
  const without = { ...endless, spec: { ...endless.spec, maxTotalCost: undefined } };
  expect(room(0.01, [without])).toMatchObject({ reason: 'AtServerLimit' });
});

test('counts every object that has not ended as a machine', () => {
  const three = ['a', 'b', 'c'].map((uid) => object({ uid, maxCost: '1' }));
  expect(room(1, three)).toMatchObject({ reason: 'AtServerLimit', passes: true });
  expect(room(1, [...three.slice(1), object({ uid: 'd', ended: true })])).toBeUndefined();
});

test('does not count a machine as ended before the operator has seen the present spec', () => {
  const ended = object({ ended: true });
  expect(hasEnded(ended)).toBe(true);
  expect(hasEnded({ ...ended, metadata: { ...ended.metadata, generation: 2 } })).toBe(false);
  expect(hasEnded(object({ ended: true, machine: true }))).toBe(false);
});

test('names the SpendBudget without room, and ignores one that only reports', () => {
  expect(room(5, [], [budget('8', '3.5')])).toMatchObject({ reason: 'BudgetReached' });
  expect(room(5, [], [budget('8', '3.5')])?.message).toContain('$4.50 of $8 this month (SpendBudget team)');
  expect(room(5, [], [budget('8', '3.5', 'Report')])).toBeUndefined();
});

test('promises of running objects count against a SpendBudget before they are spent', () => {
  expect(room(4, [object({ machine: true, spent: '1' })], [budget('8', '1')])).toBeUndefined();
  expect(room(4.1, [object({ machine: true, spent: '1' })], [budget('8', '1')])).toMatchObject({
    reason: 'BudgetReached',
  });
});

test('a pending object counts for others, and the earliest one is not held up by later ones', () => {
  const [early, late] = [
    object({ uid: 'b', pending: true, created: '2026-11-30T11:00:00Z' }),
    object({ uid: 'a', pending: true, created: '2026-11-30T11:00:01Z' }),
  ];
  const state = { objects: [early, late], budgets: [] };
  const limits = { ...LIMITS, maxMachines: 1 };
  expect(roomFor(1, beside(early, state), limits, NOW)).toBeDefined();
  expect(roomFor(1, beforeLater(early, beside(early, state)), limits, NOW)).toBeUndefined();
  expect(roomFor(1, beforeLater(late, beside(late, state)), limits, NOW)).toBeDefined();
});

test('an object that a person resumed is not pending', () => {
  expect(isPending(object({ pending: true }))).toBe(true);
  expect(isPending(object({ pending: true, paused: false }))).toBe(false);
});

test('shows the price, the cost and the smallest amount that is left', () => {
  const state = { objects: [object({ machine: true, spent: '1.5' })], budgets: [budget('5', '1.5')] };
  expect(costNow(state, LIMITS, NOW)).toEqual({ perHour: '2.00', total: '1.50', budgetLeft: '1.00' });
  expect(costNow({ objects: [object({ spent: '12' })], budgets: undefined }, LIMITS, NOW).budgetLeft).toBe(
    '0.00',
  );
});
