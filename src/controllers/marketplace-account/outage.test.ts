import { describe, expect, test } from 'vitest';
import { accountWith, failed, observed, proven, session } from '../../../test/builders/observed-account.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { outageText } from '../../api/v1alpha1/outage.ts';
import { formatTime } from '../../lib/time.ts';
import { decide } from './decide.ts';
import type { Failure } from './key-proof.ts';
import type { Observed } from './types.ts';

/* P3: each loss of a service of an account has one event, one log line and one record, and one of each at its end. */

const NOW = observed().now;
const SETTLED = decide(observed()).status;
const unavailable = (change: Partial<Failure> = {}): Failure => ({
  ...{ kind: 'unavailable', badCertificate: false, httpStatus: 503 },
  ...change,
});

/** Returns an observation in which the second consecutive list has failed; the first did `seconds` ago. */
const down = (
  failure: Failure,
  seconds: number,
  status: MarketplaceAccountStatus = SETTLED,
): Partial<Observed> => ({
  account: accountWith({ status }),
  keyKept: true,
  session: session({
    failure,
    health: { lastCompleteAt: 1, consecutiveFailures: 2, failingSince: NOW - seconds * 1000 },
  }),
});
const notesOf = (given: Partial<Observed>) =>
  decide(observed(given)).events.map(({ type, reason, note }) => `${type} ${reason}: ${note}`);
const messageOf = (status: MarketplaceAccountStatus, type: string) =>
  status.conditions?.find((condition) => condition.type === type)?.message;

describe('P3: a marketplace that returns HTTP 503', () => {
  const start = decide(observed(down(unavailable(), 12)));

  test('is reported by one event with cause and duration, and by its figures in the log', () => {
    expect(start.events).toMatchObject([
      {
        ...{
          type: 'Warning',
          reason: 'Unreachable',
          note: 'Marketplace returned HTTP 503 for 12s; retrying.',
        },
        figures: { cause: 'Unreachable', httpStatus: 503, seconds: 12 },
      },
    ]);
  });

  test('is on record with cause and beginning, and the condition names both', () => {
    const since = formatTime(NOW - 12_000);
    expect(start.status.outage).toEqual({ reason: 'Unreachable', since, httpStatus: 503 });
    expect(messageOf(start.status, 'Ready')).toContain(
      `Marketplace returned HTTP 503, no complete list since ${since}; retrying.`,
    );
  });

  test.for([
    ['the same', unavailable()],
    ['another 5xx', unavailable({ httpStatus: 502 })],
    ['no reply', unavailable({ kind: 'timeout', httpStatus: undefined })],
  ] as const)('reports nothing more while it lasts, with %s', ([, failure]) => {
    const later = decide(observed({ ...down(failure, 73, start.status), now: NOW + 61_000 }));
    expect(later.events).toEqual([]);
    expect(later.status.outage).toEqual(start.status.outage);
    expect(messageOf(later.status, 'Ready')).toBe(messageOf(start.status, 'Ready'));
  });

  test('keeps its beginning when its cause changes', () => {
    const throttled = unavailable({ kind: 'throttled', httpStatus: 429 });
    const later = decide(observed(down(throttled, 73, start.status)));
    expect(later.status.outage).toEqual({ ...start.status.outage, reason: 'Throttled', httpStatus: 429 });
    expect(later.events).toEqual([]);
  });

  test('is reported as over once, with its duration and cause', () => {
    const over = { account: accountWith({ status: start.status }), keyKept: true, now: NOW + 61_000 };
    expect(decide(observed(over)).events).toMatchObject([
      {
        ...{ type: 'Normal', reason: 'ServiceRestored' },
        note: 'Service restored after 73s. Cause: Marketplace returned HTTP 503.',
        figures: { httpStatus: 503, seconds: 73 },
      },
    ]);
    const after = decide(observed(over)).status;
    expect(after.outage).toBeUndefined();
    expect(notesOf({ ...over, account: accountWith({ status: after }) })).toEqual([]);
  });

  test('stays on record while a process that has just started finds out', () => {
    const restarted = decide(
      observed({
        account: accountWith({ status: start.status }),
        session: session({ health: { lastCompleteAt: undefined, consecutiveFailures: 0 } }),
      }),
    );
    expect(restarted.status.outage).toEqual(start.status.outage);
    expect(restarted.events).toEqual([]);
  });
});

test('P3: one list that fails is no outage', () => {
  const once = { lastCompleteAt: 1, consecutiveFailures: 1, failingSince: NOW };
  const { status, events } = decide(
    observed({ keyKept: true, session: session({ failure: unavailable(), health: once }) }),
  );
  expect({ outage: status.outage, events }).toEqual({ outage: undefined, events: [] });
});

test('P3: one check of the key without an answer is no outage while lists arrive, and two are', () => {
  const unchecked = (keyUnanswered: number) => ({
    ...{ account: accountWith({ status: SETTLED }), keyUnanswered, keyFailingSince: NOW - 10_000 },
    proof: failed('unavailable', { httpStatus: 503 }),
  });
  expect(notesOf(unchecked(1))).toEqual([]);
  expect(notesOf(unchecked(2))).toEqual([
    'Warning Unreachable: Marketplace returned HTTP 503 for 10s; retrying.',
  ]);
});

test('P3: a key that cannot be verified says that the marketplace is unreachable', () => {
  const { status } = decide(
    observed({ ...down(unavailable(), 12), proof: failed('unavailable', { httpStatus: 503 }) }),
  );
  expect(messageOf(status, 'Authenticated')).toBe('Cannot verify the API key: marketplace unreachable.');
  expect(messageOf(status, 'Ready')).toContain('Marketplace returned HTTP 503');
});

test('P3: a refused key is reported with its status code, and its end when it is accepted again', () => {
  const refused = decide(
    observed({
      account: accountWith({ status: SETTLED }),
      proof: failed('unauthorized', { httpStatus: 401 }),
    }),
  );
  expect(refused.status.outage).toMatchObject({ reason: 'KeyRejected', httpStatus: 401 });
  expect(refused.events).toMatchObject([
    {
      reason: 'KeyRejected',
      note: 'The marketplace does not accept the key (HTTP 401). Put a valid key into the Secret.',
      figures: { httpStatus: 401 },
    },
  ]);
  expect(notesOf({ account: accountWith({ status: refused.status }), now: NOW + 300_000 })).toEqual([
    'Normal ServiceRestored: Service restored after 5m. Cause: Marketplace refused the API key (HTTP 401).',
  ]);
});

test('P4: used up credit is reported at its start and at its end', () => {
  const empty = {
    account: accountWith({ status: SETTLED }),
    proof: proven({ user: { ...proven().user, credit: 0 } }),
  };
  const { status, events } = decide(observed(empty));
  expect(status.outage).toMatchObject({ reason: 'InsufficientCredit' });
  expect(events.map(({ reason }) => reason)).toEqual(['InsufficientCredit']);
  expect(notesOf({ account: accountWith({ status }), now: NOW + 60_000 })).toEqual([
    'Normal ServiceRestored: Service restored after 60s. Cause: Credit is used up.',
  ]);
});

test.for([
  [
    { reason: 'Unreachable', code: 'ECONNREFUSED' },
    'Marketplace was unreachable (ECONNREFUSED) for 73s; retrying.',
  ],
  [{ reason: 'Unreachable' }, 'Marketplace did not answer for 73s; retrying.'],
  [
    { reason: 'Throttled', httpStatus: 429 },
    'Marketplace limited the number of requests (HTTP 429) for 73s; retrying.',
  ],
] as const)('P3: %j reads: %s', ([outage, text]) => {
  expect(outageText({ ...outage, since: formatTime(0) }, 73_000)).toBe(text);
});
