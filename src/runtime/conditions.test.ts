import { expect, test } from 'vitest';
import { findCondition, MAX_MESSAGE_BYTES, setConditions } from './conditions.ts';
import type { Condition } from './kube/kube-object.ts';

const before: readonly Condition[] = [
  {
    type: 'Ready',
    status: 'False',
    reason: 'Renting',
    message: 'a',
    lastTransitionTime: 'T1',
    observedGeneration: 1,
  },
  {
    type: 'Stalled',
    status: 'True',
    reason: 'NoOffer',
    message: 'b',
    lastTransitionTime: 'T1',
    observedGeneration: 1,
  },
  { type: 'Foreign', status: 'True', reason: 'Theirs', message: 'c', lastTransitionTime: 'T1' },
];
const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: 'fine' } as const;

const rows = [
  {
    title: 'a status that changes gets the time of now',
    desired: [ready],
    absent: [],
    expected: [{ ...ready, lastTransitionTime: 'T2', observedGeneration: 2 }, before[1], before[2]],
  },
  {
    title: 'a status that stays keeps its time, also with another reason',
    desired: [{ ...ready, status: 'False', reason: 'Loading' }],
    absent: [],
    expected: [
      { ...ready, status: 'False', reason: 'Loading', lastTransitionTime: 'T1', observedGeneration: 2 },
      before[1],
      before[2],
    ],
  },
  {
    title: 'what must not be there goes, what others wrote stays, what is new comes last',
    desired: [{ ...ready, type: 'Running' }],
    absent: ['Stalled'],
    expected: [
      before[0],
      before[2],
      { ...ready, type: 'Running', lastTransitionTime: 'T2', observedGeneration: 2 },
    ],
  },
] as const;

test.each(rows)('$title', ({ desired, absent, expected }) => {
  expect(setConditions({ previous: before, desired, absent, generation: 2, now: 'T2' })).toEqual(expected);
});

test('the same decision gives the same conditions, whatever the time', () => {
  const decide = (previous: readonly Condition[] | undefined, now: string) =>
    setConditions({ previous, desired: [ready, { ...ready, type: 'Running' }], generation: 1, now });
  const first = decide(undefined, 'T1');
  expect(decide(first, 'T9')).toEqual(first);
});

test('a message is cut to what definitions take, or no status could be written', () => {
  const [cut] = setConditions({
    previous: [],
    desired: [{ ...ready, message: 'ü'.repeat(20_000) }],
    generation: undefined,
    now: 'T1',
  });
  expect(Buffer.byteLength(cut?.message ?? '')).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
  expect(cut).not.toHaveProperty('observedGeneration');
});

test('finds a condition by its type', () => {
  expect(findCondition(before, 'Stalled')?.reason).toBe('NoOffer');
  expect(findCondition(undefined, 'Stalled')).toBeUndefined();
});
