import { describe, expect, test } from 'vitest';
import { at, type Given, given, time, withMachine } from '../../../test/builders/observed.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { isTimeUp } from './deadlines.ts';
import type { Facts } from './facts.ts';
import {
  budgetStopOf,
  limitState,
  limitToApply,
  nextDeadline,
  priceRise,
  remainingLifetimeMs,
  replaceIsDue,
  replaceIsHandled,
  unreadableReplaceAt,
} from './limits.ts';

const lived = (serviceTime: ServiceTime) =>
  given(
    withMachine(
      {},
      { spec: { maxLifetime: '1m' }, status: { firstRentedAt: time(-3600) }, facts: { serviceTime } },
    ),
  );
const within = { type: 'within', reachedInMs: 10_000 };
const known = (isConfirmed: boolean) => ({ type: 'known', at: at(0), isConfirmed }) as const;

test('a limit by time is looked at again soon while the time of the service is doubtful', () => {
  expect(limitState(lived({ type: 'stale' }))).toEqual(within);
  expect(limitToApply(lived({ type: 'stale' }))).toEqual(within);
});

test('a limit stops renting before two lists agree on the time, and ends a machine only after', () => {
  const reached = { type: 'reached', detail: 'spec.maxLifetime of 1m is over.' };
  expect(limitState(lived(known(false)))).toEqual(reached);
  expect(limitToApply(lived(known(false)))).toEqual(within);
  expect(limitToApply(lived(known(true)))).toEqual(reached);
});

test('an object without limits is looked at for none', () => {
  expect(limitToApply(given(withMachine()))).toEqual({ type: 'within', reachedInMs: undefined });
});

test('an unknown price has not risen', () => {
  const observed = given(withMachine({}, { status: { offerPricePerHour: '0.10' } }));
  expect(priceRise(observed, undefined, 1)).toBeUndefined();
  expect(
    priceRise(given(withMachine({}, { status: { offerPricePerHour: undefined } })), 900_000, undefined),
  ).toBeUndefined();
});

const HOUR_MS = 3_600_000;
const UNCONFIRMED = known(false);
const { replaceAt } = annotations;

/** Returns an object with a machine rented five minutes ago and that annotation. */
const toReplace = (annotation: string, situation: Given = {}) =>
  given(withMachine({}, { ...situation, annotations: { [replaceAt]: annotation } }));

/** Returns the same object as if it had never been annotated. */
function withoutAnnotations(facts: Facts): Facts {
  const { annotations: _, ...metadata } = facts.object.metadata;
  return { ...facts, object: { ...facts.object, metadata } };
}

test('a limit that is not reached is looked at when it will be, although no two lists agree on the time', () => {
  const lifetime = { spec: { maxLifetime: '2h' }, status: { firstRentedAt: time(-3600) } } as const;
  const observed = given(withMachine({}, { ...lifetime, facts: { serviceTime: UNCONFIRMED } }));
  expect(limitToApply(observed)).toEqual({ type: 'within', reachedInMs: HOUR_MS });
});

describe('the next deadline', () => {
  test.each<readonly [string, Facts, object]>([
    ['is none when there is no limit and nothing to replace', given(withMachine()), {}],
    ['is when the machine is to be replaced', toReplace(time(600)), { afterMs: 600_000 }],
    [
      'is the replacement when that comes before the limit',
      toReplace(time(600), { spec: { maxLifetime: '1h' } }),
      { afterMs: 600_000 },
    ],
    [
      'is the limit when that comes before the replacement',
      toReplace(time(600), { spec: { maxLifetime: '10m' } }),
      { afterMs: 300_000 },
    ],
    ['is a second away at least', toReplace(new Date(at(0) + 10).toISOString()), { afterMs: 1_000 }],
    [
      'is none for a replacement that is due now: what holds it back tells when it is lifted',
      toReplace(time(0)),
      {},
    ],
    [
      'is soon when a replacement is asked for and no two lists agree on the time',
      toReplace(time(600), { facts: { serviceTime: UNCONFIRMED } }),
      { afterMs: 10_000 },
    ],
    [
      'is none when nothing is asked for, whether or not two lists agree on the time',
      given(withMachine({}, { facts: { serviceTime: UNCONFIRMED } })),
      {},
    ],
    [
      'is none for an object without annotations',
      withoutAnnotations(given(withMachine({}, { facts: { serviceTime: UNCONFIRMED } }))),
      {},
    ],
  ])('%s', (_, facts, expected) => {
    expect(nextDeadline(facts)).toEqual(expected);
  });
});

describe('a replacement that an annotation asks for', () => {
  test.each<readonly [string, Facts, boolean]>([
    ['is due when its time is there', toReplace(time(0)), true],
    ['is not due before its time', toReplace(time(1)), false],
    ['is not due when the machine was rented at its time', toReplace(time(-300)), false],
    ['is not due when it was handled', toReplace(time(-1), { status: { replacedAt: time(-1) } }), false],
    ['is not due when no machine was rented', given({ annotations: { [replaceAt]: time(-1) } }), false],
    ['is not due when the object has no annotations', withoutAnnotations(given(withMachine())), false],
  ])('%s', (_, facts, expected) => {
    expect(replaceIsDue(facts)).toBe(expected);
  });

  test.each<readonly [string, string, Given, boolean]>([
    ['is handled when its time is there and nothing is rented', time(0), {}, true],
    ['is not handled before its time', time(1), {}, false],
    ['is not handled while it is due', time(0), withMachine(), false],
    ['is handled when it names no time', 'soon', {}, true],
    [
      'is not handled before two lists agree on the time',
      time(-1),
      { facts: { serviceTime: UNCONFIRMED } },
      false,
    ],
  ])('%s', (_, annotation, situation, expected) => {
    const facts = given({ ...situation, annotations: { [replaceAt]: annotation } });
    expect(replaceIsHandled(facts, annotation)).toBe(expected);
  });

  test.each<readonly [string, Facts, number]>([
    ['is reported when it names no time', toReplace('soon'), 1],
    [
      'is reported when it names no time, before anything was rented',
      given({ annotations: { [replaceAt]: 'soon' } }),
      1,
    ],
    ['is reported once', toReplace('soon', { status: { replacedAt: 'soon' } }), 0],
    ['is not reported when it names a time', toReplace(time(600)), 0],
    ['is not reported when the object has no annotations', withoutAnnotations(given(withMachine())), 0],
  ])('%s', (_, facts, notes) => {
    expect(unreadableReplaceAt(facts)).toHaveLength(notes);
  });
});

test.each<readonly [string, Given, boolean]>([
  ['is up when a fresh list was read after it', { observed: { steadyNow: at(0) } }, true],
  ['is not up before it', { observed: { steadyNow: at(-11) } }, false],
  ['is not up without a list', { list: 'none' }, false],
  [
    'is not up by a list that is half a minute old and was begun before',
    { list: { begunSteady: at(-31) } },
    false,
  ],
])('the time of a machine %s', (_, situation, expected) => {
  expect(isTimeUp(given(situation), at(-10))).toBe(expected);
});

describe('the time that an object may have machines yet', () => {
  const remaining = (maxLifetime: string | undefined, firstRentedAt: string | undefined) =>
    remainingLifetimeMs(given({ spec: { maxLifetime }, status: { firstRentedAt } }));

  test.each([
    ['is what is left since the first rental', '5m', time(-60), 240_000],
    ['is none when it is over', '1m', time(-61), 0],
    ['is all of it before the first rental', '5m', undefined, 300_000],
    ['is not limited without maxLifetime', undefined, time(-60), undefined],
  ] as const)('%s', (_, maxLifetime, first, expected) => {
    expect(remaining(maxLifetime, first)).toBe(expected);
  });
});

test.each([
  ['stops a machine that should run', {}, {}, true],
  ['says nothing of a machine that is to be stopped anyway', { powerState: 'Stopped' }, {}, false],
  ['leaves a machine that a person holds', {}, { [annotations.hold]: 'true' }, false],
] as const)('a budget of the namespace %s', (_, spec, notes, stops) => {
  const facts = { ...given(withMachine({}, { spec, annotations: notes })), budgetStop: 'Spent.' };
  expect(budgetStopOf(facts)).toBe(stops ? 'Spent.' : undefined);
});

test('the end of a contract is due a day before it, until it is reported', () => {
  const dueIn = (isReported: boolean) =>
    nextDeadline(given(withMachine({}, { status: { contractEnd: { at: time(90_000), isReported } } })));
  expect(dueIn(false)).toEqual({ afterMs: 3_600_000 });
  expect(dueIn(true)).toEqual({});
});
