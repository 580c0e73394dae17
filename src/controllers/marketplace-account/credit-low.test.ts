import { describe, expect, test } from 'vitest';
import { accountWith, failed, observed, proven, session } from '../../../test/builders/observed-account.ts';
import type { MarketplaceAccountSpec } from '../../api/v1alpha1/marketplace-account.ts';
import { creditLow, withReading } from './credit-low.ts';
import { decide } from './decide.ts';
import type { CreditReading, Observed } from './types.ts';

const DOLLAR = 1_000_000;

/** Returns a reading of that credit at $1 an hour, or at the given price; both in dollars. */
const reading = (
  credit: number | undefined,
  { at = 0, pricePerHour = 1 }: { readonly at?: number; readonly pricePerHour?: number } = {},
): CreditReading => ({
  checkedAt: at,
  credit: credit === undefined ? undefined : Math.round(credit * DOLLAR),
  pricePerHour: Math.round(pricePerHour * DOLLAR),
});
const twice = (...[credit, options]: Parameters<typeof reading>) => [
  reading(credit, { ...options, at: 1 }),
  reading(credit, { ...options, at: 2 }),
];

const CREDIT_LOW = {
  type: 'CreditLow',
  status: 'True',
  reason: 'CreditLow',
  message: 'Credit is low.',
  lastTransitionTime: '2026-11-20T10:00:00Z',
} as const;

interface Before {
  readonly limits?: MarketplaceAccountSpec['limits'];
  readonly isLow?: boolean;
}

function given(
  creditReadings: readonly CreditReading[],
  { limits = {}, isLow = false }: Before = {},
): Observed {
  const account = accountWith({
    spec: { limits },
    status: { observedGeneration: 1, ...(isLow && { conditions: [CREDIT_LOW] }) },
  });
  return observed({ account, creditReadings });
}

describe('CreditLow', () => {
  const minCredit = { limits: { minCredit: '5' } };
  test.each<readonly [string, readonly CreditReading[], Before, boolean]>([
    ['is absent if the credit lasts more than 24 h', twice(24.01), {}, false],
    ['is true if the credit lasts 24 h', twice(24), {}, true],
    ['is true if the credit is used up, also if nothing bills', twice(0, { pricePerHour: 0 }), {}, true],
    ['is absent if nothing bills', twice(0.01, { pricePerHour: 0 }), {}, false],
    ['counts a debt', twice(-3, { pricePerHour: 0 }), {}, true],
    ['counts from minCredit', twice(29), minCredit, true],
    ['is absent if more than 24 h remain above minCredit', twice(29.01), minCredit, false],
    [
      'is true if the credit is at minCredit and nothing bills',
      twice(5, { pricePerHour: 0 }),
      minCredit,
      true,
    ],
    ['is absent if the credit is not known', twice(undefined), {}, false],
    ['is absent after one low reading', [reading(1)], {}, false],
    ['is absent if the first of two readings was low', [reading(1), reading(100, { at: 1 })], {}, false],
    ['is absent if only the second of two readings is low', [reading(100), reading(1, { at: 1 })], {}, false],
    [
      'is absent after one reading with a wrong price',
      [reading(100), reading(100, { pricePerHour: 9 })],
      {},
      false,
    ],
    ['is absent without a reading', [], {}, false],
    ['stays at 30 h', twice(30), { isLow: true }, true],
    ['ends above 30 h', twice(30.01), { isLow: true }, false],
    ['stays between 24 h and 30 h', twice(27), { isLow: true }, true],
    ['does not begin between 24 h and 30 h', twice(27), {}, false],
    ['stays after one high reading', [reading(1), reading(100, { at: 1 })], { isLow: true }, true],
    ['stays after a restart until two readings agree', [reading(100)], { isLow: true }, true],
    ['stays without a reading, as in an outage', [], { isLow: true }, true],
    ['ends if the key may not read the credit any more', twice(undefined), { isLow: true }, false],
    ['ends above 30 h beyond minCredit', twice(35.01), { ...minCredit, isLow: true }, false],
    ['stays at 30 h beyond minCredit', twice(35), { ...minCredit, isLow: true }, true],
  ])('%s', (_, readings, before, isTrue) => {
    const state = creditLow(given(readings, before));
    expect(state && [state.status, state.reason]).toEqual(isTrue ? ['True', 'CreditLow'] : undefined);
  });

  test('has the same message at each credit and price', () => {
    const messages = [twice(24), twice(3.21), twice(7, { pricePerHour: 2.5 })].map(
      (readings) => creditLow(given(readings))?.message,
    );
    expect(new Set(messages)).toEqual(
      new Set([
        'Credit is used up in about a day or less at the present hourly cost; without credit the marketplace stops or destroys machines. Add credit at the marketplace.',
      ]),
    );
  });

  test('names minCredit if that comes first', () => {
    expect(creditLow(given(twice(6), minCredit))?.message).toBe(
      'Credit is down to limits.minCredit of $5.00 in about a day or less at the present hourly cost; then nothing is rented or started. Add credit at the marketplace.',
    );
  });
});

describe('the readings of an account', () => {
  test('are the two newest', () => {
    const all = [1, 2, 3].map((at) => reading(at, { at }));
    expect(all.reduce<readonly CreditReading[]>(withReading, [])).toEqual(all.slice(1));
  });

  test('are one for each check, however often the account is reconciled', () => {
    const first = withReading([], reading(1, { at: 5 }));
    expect(withReading(first, reading(1, { at: 5, pricePerHour: 9 }))).toBe(first);
  });

  test('stay if a check failed', () => {
    const before = [reading(1)];
    expect(withReading(before, undefined)).toBe(before);
  });
});

describe('the events of CreditLow', () => {
  const eventsOf = (situation: Observed) =>
    decide(situation)
      .events.filter(({ reason }) => reason.startsWith('Credit'))
      .map(({ type, reason }) => `${type} ${reason}`);

  test.each<readonly [string, Observed, readonly string[]]>([
    ['are a Warning when it begins', given(twice(1)), ['Warning CreditLow']],
    ['are none while it stays', given(twice(1), { isLow: true }), []],
    ['are a Normal one when it ends', given(twice(100), { isLow: true }), ['Normal CreditSufficient']],
    ['are none while the credit lasts', given(twice(100)), []],
    [
      'are none in an outage',
      { ...given(twice(1), { isLow: true }), proof: failed('timeout'), session: undefined },
      [],
    ],
    [
      'are none if a new process has no findings yet',
      { ...given([], { isLow: true }), proof: { type: 'none' }, session: undefined },
      [],
    ],
  ])('%s', (_, situation, expected) => {
    expect(eventsOf(situation)).toEqual(expected);
  });

  test('agree with the status that is written', () => {
    for (const situation of [given(twice(1)), given(twice(100), { isLow: true })]) {
      const { status } = decide(situation);
      const written = { ...situation, account: { ...situation.account, status } };
      expect(eventsOf(written)).toEqual([]);
    }
  });

  test('say that the credit is not known if that ends the condition', () => {
    const { events } = decide({
      ...given(twice(undefined), { isLow: true }),
      proof: proven({ user: { ...proven().user, credit: undefined } }),
      session: session({ sums: { ...session().sums, credit: undefined } }),
    });
    expect(events).toContainEqual({
      type: 'Normal',
      reason: 'CreditUnknown',
      action: 'CheckAccount',
      note: 'The key may not read the credit any more, so CreditLow is not reported.',
    });
  });
});
