import { expect, test } from 'vitest';
import { given } from '../../../test/builders/observed.ts';
import { backoffMs, decision, firstOf } from './decision.ts';
import type { Step } from './types.ts';

const observed = given();

test('a decision that does nothing records nothing, and says so', () => {
  expect(decision({})).toEqual({
    type: 'decision',
    rule: '',
    because: '',
    record: { type: 'nothing', because: 'noAction' },
    events: [],
    avoid: [],
    settled: [],
    requeue: {},
    actions: [],
  });
});

test('a decision that acts records first, unless it says why it need not', () => {
  const actions = [{ type: 'stop', instanceId: '1' }] as const;
  expect(decision({ actions }).record).toEqual({ type: 'status' });
  const record = { type: 'nothing', because: 'deleting' } as const;
  expect(decision({ actions, record }).record).toEqual(record);
});

test('fields without a finding, or a finding without fields, are no status', () => {
  expect(decision({ fields: {} })).not.toHaveProperty('status');
});

test('the first rule that applies gives its name and reason to what it decides, not to what it asks', () => {
  const rule = (name: string, step: Step | undefined) => ({ name, because: 'b', decide: () => step });
  const look: Step = { type: 'read', requests: [{ type: 'inputs' }] };
  const rules = [rule('first', undefined), rule('second', decision({})), rule('third', decision({}))];
  expect(firstOf(rules, observed, undefined)).toMatchObject({ rule: 'second', because: 'b' });
  expect(firstOf([rule('asks', look)], observed, undefined)).toEqual(look);
  expect(firstOf([rule('first', undefined)], observed, undefined)).toBeUndefined();
});

test.each([
  [0, 0.5, 5_000],
  [1, 0.5, 5_000],
  [2, 0.5, 10_000],
  [6, 0.5, 160_000],
  [7, 0.5, 300_000],
  [99, 0.5, 300_000],
  [1, 0, 4_500],
  [1, 1, 5_500],
])('after %d failures and with a chance of %d it waits %d ms', (failures, jitter, expected) => {
  expect(backoffMs(failures, jitter)).toBe(expected);
});
