import { describe, expect, test } from 'vitest';
import { accountWith, observed, session } from '../../../test/builders/observed-account.ts';
import type { BreakerState } from '../../accounts/breaker.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { decide } from './decide.ts';
import { breakerRecord } from './incidents.ts';
import type { Observed } from './types.ts';

const NOW = '2026-11-20T12:00:00Z';
const OPENED = '2026-11-20T11:00:00Z';
const RELEASED = '2026-11-20T11:30:00Z';
const EARLIER = '2026-11-20T10:00:00Z';

const OPEN: BreakerState = {
  ...{ type: 'open', since: Date.parse(OPENED), cause: 'massFailure' },
  ...{ unhealthy: 6, message: 'six' },
};

const slow = (releasedBy: 'hold' | 'person'): BreakerState => ({
  ...{ type: 'slow', since: Date.parse(OPENED), releasedAt: Date.parse(RELEASED), releasedBy },
  ...{ unhealthy: 6, message: 'six', turn: undefined },
});

interface Given {
  readonly state?: BreakerState;
  readonly word?: string;
  readonly before?: MarketplaceAccountStatus['breaker'];
}

function given({ state = { type: 'closed' }, word, before }: Given): Observed {
  const annotations = word === undefined ? {} : { 'gpurental.dev/close-breaker': word };
  const status = before && { breaker: before };
  return observed({
    account: accountWith({ metadata: { annotations }, ...(status && { status }) }),
    session: session({ breaker: state }),
  });
}

const record = (facts: Given) => breakerRecord(given(facts)).breaker;

describe('the record of a mass failure (C2)', () => {
  test('says since when the breaker is open, and nothing of a release or a person', () => {
    expect(record({ state: OPEN })).toStrictEqual({ open: true, since: OPENED, unhealthy: 6 });
  });

  test('keeps the time at which the breaker opened, also across a restart', () => {
    const before = { open: true, since: EARLIER, unhealthy: 4 };
    expect(record({ state: OPEN, before })).toStrictEqual({ open: true, since: EARLIER, unhealthy: 6 });
  });

  test('stays open after the maximum hold, with the time of the release', () => {
    const released = { open: true, since: OPENED, unhealthy: 6, releasedAt: RELEASED };
    expect(record({ state: slow('hold') })).toStrictEqual(released);
  });

  test('keeps the first time of the release', () => {
    const before = { open: true, since: OPENED, unhealthy: 6, releasedAt: EARLIER };
    expect(record({ state: slow('hold'), before })).toStrictEqual(before);
  });

  test('is closed after a person released it, since now', () => {
    const before = { open: true, since: OPENED, unhealthy: 6 };
    expect(record({ state: slow('person'), before })).toStrictEqual({
      open: false,
      since: NOW,
      unhealthy: 6,
      releasedAt: RELEASED,
    });
  });

  test('keeps the time at which a person closed it', () => {
    const before = { open: false, since: EARLIER, unhealthy: 6, releasedAt: EARLIER, closedBy: 'v1' };
    expect(record({ state: slow('person'), before })).toStrictEqual(before);
  });

  test('is released now by a word that is handled now', () => {
    expect(record({ state: OPEN, word: 'v1' })).toStrictEqual({
      open: false,
      since: NOW,
      unhealthy: 6,
      releasedAt: NOW,
      closedBy: 'v1',
    });
  });

  test('is released by a word while replacement is slow, at the time of the hold', () => {
    expect(record({ state: slow('hold'), word: 'v1' })).toStrictEqual({
      open: false,
      since: NOW,
      unhealthy: 6,
      releasedAt: RELEASED,
      closedBy: 'v1',
    });
  });

  test('forgets the release when the machines are well again, and keeps how many were not', () => {
    const before = { open: true, since: OPENED, unhealthy: 6, releasedAt: RELEASED };
    expect(record({ before })).toStrictEqual({ open: false, since: NOW, unhealthy: 6 });
  });

  test('is not begun by a list that failed, by no failure, or without a session', () => {
    expect(breakerRecord(given({ state: { ...OPEN, cause: 'listFailed' } }))).toStrictEqual({});
    expect(breakerRecord(given({}))).toStrictEqual({});
    expect(breakerRecord({ ...given({}), session: undefined })).toStrictEqual({});
  });
});

describe('the event of a release', () => {
  const reasons = (facts: Given) => decide(given(facts)).events.map(({ reason }) => reason);

  test('is shown when the maximum hold is over', () => {
    const before = { open: true, since: OPENED, unhealthy: 6 };
    expect(reasons({ state: slow('hold'), before })).toEqual(['BreakerOpen']);
  });

  test('is not shown twice, nor when a person released the breaker', () => {
    const before = { open: true, since: OPENED, unhealthy: 6, releasedAt: RELEASED };
    expect(reasons({ state: slow('hold'), before })).toEqual([]);
    expect(reasons({ state: slow('person'), before: { open: true, since: OPENED, unhealthy: 6 } })).toEqual(
      [],
    );
  });
});
