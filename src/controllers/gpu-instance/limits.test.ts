import { expect, test } from 'vitest';
import { at, given, time, withMachine } from '../../../test/builders/observed.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import { limitState, limitToApply, priceRise } from './limits.ts';

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
