import { describe, expect, test } from 'vitest';
import { given, NOW, offer } from '../../../test/builders/observed.ts';
import type { MarketplaceErrorKind } from '../../market/errors.ts';
import { decideAfterFailure, type Failure } from './failure.ts';
import type { Action, Purchase } from './types.ts';

const failure = (kind: MarketplaceErrorKind, change: Partial<Failure> = {}): Failure => ({
  kind,
  outcome: 'refused',
  message: 'what we say',
  retryAfterMs: undefined,
  instanceId: undefined,
  ...change,
});

const purchase: Purchase = {
  attempt: 1,
  offer: offer({ id: '7' }),
  offerIndex: 0,
  pricePerHour: 500_000,
  request: { image: 'example/image:1', diskGB: 10, label: '', env: {}, ports: [], ssh: false },
  issuedAt: NOW,
  decidedAt: NOW,
  specHash: 'v1:0',
  knownIds: undefined,
};
const rent: Action = { type: 'rent', purchase };
const start: Action = { type: 'start', instanceId: '1', pricePerHour: undefined };
const destroy: Action = { type: 'destroy', instanceId: '1', reason: 'Replacing' };
const AVOIDED = { avoid: { type: 'offer', id: '7' } };
const refused = (reason: string) => ({
  type: 'retry',
  afterMs: 5_000,
  refusal: { reason, detail: 'what we say' },
});

describe('after a rent that failed', () => {
  test.for([
    ['timeout', { outcome: 'unknown' }, { type: 'settle' }],
    ['unavailable', { outcome: 'unknown', instanceId: '9' }, { type: 'rented', instanceId: '9' }],
    ['invalidRequest', { instanceId: '9' }, { type: 'rented', instanceId: '9' }],
    ['aborted', {}, { type: 'retry', afterMs: 0 }],
    ['offerGone', {}, { type: 'retry', afterMs: 0, ...AVOIDED }],
    ['insufficientCredit', {}, refused('InsufficientCredit')],
    ['invalidRequest', {}, refused('InvalidSpec')],
    ['throttled', {}, refused('Throttled')],
    ['quotaExceeded', {}, refused('Throttled')],
    ['unavailable', {}, refused('Unreachable')],
    ['unauthorized', {}, refused('AccountNotReady')],
    ['forbidden', {}, refused('AccountNotReady')],
    ['notFound', {}, { ...refused('RentalRefused'), ...AVOIDED }],
  ] as const)('%s with %j', ([kind, change, expected]) => {
    expect(decideAfterFailure(given(), rent, failure(kind, change))).toEqual(expected);
  });
});

describe('after a start that failed', () => {
  test('a service that finds the call wrong once is asked again', () => {
    const { refusal, ...again } = refused('InvalidSpec');
    expect(decideAfterFailure(given(), start, failure('invalidRequest'))).toEqual({
      ...again,
      refusal: { ...refusal, isStartInvalid: true },
    });
  });

  test('a service that finds the call wrong twice in a row has no start', () => {
    const refusal = { reason: 'InvalidSpec', detail: 'no', isStartInvalid: true } as const;
    const before = given({ memory: { refusal, failures: 1 } });
    expect(decideAfterFailure(before, start, failure('invalidRequest'))).toEqual({
      type: 'retry',
      afterMs: 0,
      unsupported: true,
    });
  });

  test.for([
    ['invalidRequest', { outcome: 'unknown' }, 'InvalidSpec'],
    ['throttled', {}, 'Throttled'],
    ['notFound', {}, 'CannotStart'],
  ] as const)('%s with %j says %s and is tried again', ([kind, change, reason]) => {
    expect(decideAfterFailure(given(), start, failure(kind, change))).toEqual(refused(reason));
  });
});

describe('the wait', () => {
  const memory = (change: { failures?: number; destroyFailures?: number }) => given({ memory: change });

  test('doubles with each failure in a row, up to five minutes', () => {
    const waits = [0, 1, 2, 5, 6, 20].map((failures) =>
      decideAfterFailure(memory({ failures }), start, failure('throttled')),
    );
    expect(waits.map((after) => after.type === 'retry' && after.afterMs)).toEqual([
      5_000, 10_000, 20_000, 160_000, 300_000, 300_000,
    ]);
  });

  test('is at least what the service asks for', () => {
    const asked = failure('throttled', { retryAfterMs: 90_000 });
    expect(decideAfterFailure(given(), rent, asked)).toMatchObject({ afterMs: 90_000 });
  });

  test('of a destroy is a minute at most, however often it failed', () => {
    for (const [destroyFailures, afterMs] of [
      [0, 5_000],
      [2, 20_000],
      [10, 60_000],
    ] as const) {
      expect(decideAfterFailure(memory({ destroyFailures }), destroy, failure('unavailable'))).toEqual({
        type: 'retry',
        afterMs,
      });
    }
  });

  test.for([
    { type: 'stop', instanceId: '1' },
    { type: 'relabel', instanceId: '1', label: 'l' },
    { type: 'retain', instanceId: '1', policy: 'Stop', label: undefined },
    {
      type: 'release',
      endedAt: 0,
      destroyed: [],
      note: { type: 'Normal', reason: 'R', action: 'A', note: 'n' },
    },
  ] as const satisfies readonly Action[])('of a $type grows with its failures', (action) => {
    const after = decideAfterFailure(memory({ failures: 1 }), action, failure('unavailable'));
    expect(after).toEqual({ type: 'retry', afterMs: 10_000 });
  });
});
