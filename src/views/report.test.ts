import { describe, expect, test } from 'vitest';
import { accountWith } from '../../test/builders/observed-account.ts';
import { gpuInstanceConditions } from '../api/v1alpha1/conditions.ts';
import { accountReport } from './account-report.ts';
import { nextSteps } from './next-steps.ts';
import { formatReport } from './report.ts';

type Given = readonly [type: string, status: 'True' | 'False' | 'Unknown', reason: string];

const next = (...given: readonly Given[]) => {
  const conditions = given.map(([type, status, reason]) => ({
    ...{ type, status, reason, message: '' },
    lastTransitionTime: '2026-11-20T12:00:00Z',
  }));
  return nextSteps(conditions, gpuInstanceConditions);
};

describe('what happens next', () => {
  test('is nothing where all is well', () => {
    expect(next(['Ready', 'True', 'Ready'])).toEqual([]);
  });

  test('is nothing where a machine is stopped as asked, and what is at work where something is', () => {
    const stopped: readonly Given[] = [
      ['Ready', 'True', 'Stopped'],
      ['Running', 'False', 'NotRunning'],
    ];
    expect(next(...stopped)).toEqual([]);
    expect(next(...stopped, ['Reconciling', 'True', 'Starting'])).toEqual([
      expect.stringMatching(/^The operator is at work: The operator requested the start/),
    ]);
  });

  test('is the queue of an object that waits, and not that it has no machine yet', () => {
    const waiting: readonly Given[] = [
      ['Ready', 'False', 'Queued'],
      ['Reconciling', 'True', 'Queued'],
      ['Running', 'False', 'NotRunning'],
    ];
    expect(next(...waiting)).toEqual([
      expect.stringMatching(/^The operator is at work: Waiting in the queue/),
    ]);
  });

  test('is what a person can fix, also while the object is as desired', () => {
    expect(next(['Ready', 'True', 'Ready'], ['OverBudget', 'True', 'LimitReached'])).toHaveLength(1);
    expect(next(['Ready', 'True', 'Ready'], ['OverBudget', 'Unknown', 'DiffersFromOffer'])).toHaveLength(1);
  });

  test('is what waits for a person, whatever else is not as it should be', () => {
    const steps = next(
      ['Ready', 'False', 'InvalidSpec'],
      ['Stalled', 'True', 'InvalidSpec'],
      ['Running', 'False', 'NotRunning'],
      ['Rented', 'Unknown', 'Unreachable'],
    );
    expect(steps).toEqual(['Waits for you: Correct the field that the message names.']);
  });

  test('is what goes on by itself, without what is only unknown because of it', () => {
    const steps = next(['Ready', 'False', 'NoOffers'], ['Rented', 'Unknown', 'KeyTooNarrow']);
    expect(steps).toEqual([expect.stringMatching(/^Goes on by itself .* Relax spec\.offers/)]);
  });

  test('is what is unknown where nothing else is wrong', () => {
    expect(next(['Ready', 'Unknown', 'Pending'])).toHaveLength(1);
  });

  test('leaves out reasons of a newer operator', () => {
    expect(next(['Ready', 'False', 'OfTheFuture'])).toEqual([]);
  });
});

test('a reason that several conditions and events give in the same words is said once', () => {
  const why = 'No offer matches. The cheapest costs $2/h; the limit is $1.';
  const condition = (type: string, message: string) => ({
    ...{ type, message, status: 'False' as const, reason: 'NoOffers' },
    lastTransitionTime: '2026-11-20T12:00:00Z',
  });
  const at = '2026-11-20T12:00:00Z';
  const text = formatReport(
    {
      ...{ object: 'gpui/x', namespace: 'team', facts: [], next: [], tables: [] },
      conditions: [
        condition('Ready', `${why} See https://x`),
        condition('Rented', why),
        condition('Running', 'No.'),
      ],
      events: [{ at, type: 'Warning', reason: 'NoOffers', note: why, count: 2 }],
    },
    { now: Date.parse(at), paint: (_, plain) => plain },
  );
  expect(text.split(why)).toHaveLength(2);
  expect(text).toMatch(/Rented +False +NoOffers +\(as Ready\)$/m);
  expect(text).toMatch(/Running +False +NoOffers +No\.$/m);
  expect(text).toMatch(/Warning +NoOffers +\(as Ready\) \(2 times\)$/m);
});

test('the report on an account whose credit is low has the condition and the remedy', () => {
  const message = 'Credit is used up in about a day or less.';
  const at = '2026-11-20T12:00:00Z';
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: at },
    { type: 'CreditLow', status: 'True', reason: 'CreditLow', message, lastTransitionTime: at },
  ] as const;
  const account = accountWith({ status: { conditions: [...conditions], credit: '20.00', runway: '20h' } });
  const report = accountReport(account, { events: [], spentThisMonth: 0 }, Date.parse(at));
  const text = formatReport(report, { now: Date.parse(at), paint: (_, shown) => shown });
  expect(text).toContain(message);
  expect(report.next).toEqual([expect.stringContaining("Add credit in the marketplace's console")]);
});
