import { expect, test } from 'vitest';
import { given, NOW, time, withMachine } from '../../../test/builders/observed.ts';
import { statusOf } from './conditions.ts';
import { decide } from './decide.ts';

const before = (type: string, reason: string) => ({
  type,
  status: 'True' as const,
  reason,
  message: 'm',
  lastTransitionTime: time(-90),
  observedGeneration: 1,
});

test('removes a condition of an earlier version when it writes the status', () => {
  const conditions = [before('WithinBudget', 'WithinLimits')];
  const { object } = given(withMachine({}, { status: { conditions } }));
  const step = decide(given(withMachine({}, { status: { conditions } })));
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  const types = statusOf(object, step.status, NOW).conditions?.map(({ type }) => type);
  expect(types).toEqual(['Ready', 'Rented', 'Running']);
});

test('a condition that is not true any more does not stand any more', () => {
  const conditions = [before('Stalled', 'InvalidSpec'), before('Reconciling', 'Loading')];
  const observed = given(withMachine({}, { status: { conditions } }));
  const step = decide(observed);
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  const status = statusOf(observed.object, step.status, NOW);
  expect(status.phase).toBe('Running');
  expect(status.conditions?.map(({ type }) => type)).toEqual(['Ready', 'Rented', 'Running']);
});

test.each([
  [true, 'Paused'],
  [false, 'Running'],
])('F13: an object with paused: %s whose machine runs shows %s', (paused, phase) => {
  const observed = given(withMachine({}, { spec: { paused } }));
  const step = decide(observed);
  if (step.type !== 'decision' || !step.status) throw new Error('no status');
  expect(statusOf(observed.object, step.status, NOW).phase).toBe(phase);
});
