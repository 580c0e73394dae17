import { describe, expect, test } from 'vitest';
import { at, given, withMachine } from '../../../test/builders/observed.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { decide } from './decide.ts';
import type { Observed } from './types.ts';

const STOP = 'SpendBudget team: perMonth of $500.00 is spent, and onExceeded is Stop.';

const decided = (situation: Observed) => {
  const step = decide({ ...situation, budgetStop: STOP });
  if (step.type !== 'decision') throw new Error(`needs ${step.type}`);
  const { reason, status, message } = step.status?.verdict.Ready ?? {};
  const { rule, actions, events } = step;
  return { rule, reason, status, message, actions: actions.map(({ type }) => type), events };
};

const held = (situation: Observed): Observed => {
  const { object } = situation;
  const metadata = {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [annotations.hold]: 'by a person' },
  };
  return { ...situation, object: { ...object, metadata } };
};

describe('a budget of the namespace that stops machines', () => {
  test.each(['running', 'loading', 'unrecognized'] as const)('stops a machine that is %s', (state) => {
    expect(decided(given(withMachine({ state })))).toMatchObject({
      ...{ actions: ['stop'], reason: 'Stopping', status: 'False' },
      message: expect.stringContaining(STOP),
      events: expect.arrayContaining([expect.objectContaining({ type: 'Warning', reason: 'BudgetReached' })]),
    });
  });

  test.each([
    ['is doubtful', { type: 'stale' }],
    ['is shown by one list alone', { type: 'known', at: at(0), isConfirmed: false }],
  ] as const)(
    'stops no machine while the time of the service %s, and decides again soon',
    (_, serviceTime) => {
      for (const state of ['running', 'loading', 'unrecognized'] as const) {
        const step = decide({
          ...given(withMachine({ state }, { facts: { serviceTime } })),
          budgetStop: STOP,
        });
        expect(step).toMatchObject({ type: 'decision', actions: [] });
        if (state !== 'unrecognized') expect(step).toMatchObject({ requeue: { afterMs: 10_000 } });
      }
      const stopped = given(withMachine({ state: 'stopped' }, { facts: { serviceTime } }));
      expect(decided(stopped)).toMatchObject({ actions: [], reason: 'BudgetReached' });
      const byPerson = withMachine({}, { spec: { powerState: 'Stopped' }, facts: { serviceTime } });
      expect(decided(given(byPerson)).actions).toEqual(['stop']);
    },
  );

  test('leaves a stopped machine stopped, and says why', () => {
    expect(decided(given(withMachine({ state: 'stopped' })))).toMatchObject({
      ...{ rule: 'stopped-as-desired', actions: [], reason: 'BudgetReached', status: 'False' },
      message: expect.stringContaining(`${STOP} Its disk bills.`),
    });
  });

  test('leaves a machine running that a person holds', () => {
    expect(decided(held(given(withMachine())))).toMatchObject({ rule: 'run', actions: [] });
  });

  test('destroys no machine that is lost', () => {
    expect(decided(given(withMachine({ state: 'offline' }))).actions).toEqual([]);
  });

  test('searches no machine for an object without one', () => {
    expect(decided(given({}))).toMatchObject({
      ...{ rule: 'budget-reached', actions: [], reason: 'BudgetReached' },
      message: expect.stringContaining(STOP),
    });
  });
});
