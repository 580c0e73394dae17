import { describe, expect, test } from 'vitest';
import { facts, given, held, LOGIN } from '../../../test/builders/observed.ts';
import { endedIds, factsOf, isDeleting, recordedMachine, settledAttempt } from './recorded.ts';

describe('the machine on record', () => {
  test('is the one that the status names with our claim', () => {
    expect(recordedMachine(given(held()))).toEqual({ instanceId: 1, attempt: 1 });
  });

  test.each([
    [
      'with the claim of another machine',
      held({}, { status: { instanceId: 2, claim: held().status?.claim } }),
    ],
    ['with the claim of another purchase', held({}, { status: { attempt: 2, claim: held().status?.claim } })],
    ['without a claim', held({}, { status: { claim: undefined } })],
    ['for another login', held({}, { facts: { login: { ...LOGIN, userId: 8 } } })],
    ['for a login that is not known', held({}, { account: { state: 'missing' } })],
    ['that is not there', {}],
  ] as const)('is none %s', (_, situation) => {
    expect(recordedMachine(given(situation))).toBeUndefined();
  });
});

test('what this object let go of is in its history, or destroyed by this process', () => {
  const history = [{ attempt: 1, instanceId: 4, reason: 'Exited', endedAt: '', minutes: 0, cost: '0' }];
  const destroys = [{ instanceId: 5, reason: 'Exited' as const, answeredAt: 0, endedAt: 0 }];
  expect([...endedIds(given({ status: { history }, memory: { destroys } }))]).toEqual([4, 5]);
  expect([...endedIds(given())]).toEqual([]);
});

test('a login is known whether or not it may rent', () => {
  const account = { state: 'notReady', reason: 'r', message: 'm', facts: facts() } as const;
  expect(factsOf(given({ account }))).toEqual(facts());
  expect(factsOf(given({ account: { state: 'missing' } }))).toBeUndefined();
});

test('an object begins before its first purchase, and wanted', () => {
  expect([settledAttempt(given()), isDeleting(given()), isDeleting(given({ deleting: true }))]).toEqual([
    0,
    false,
    true,
  ]);
});
