import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ActualStatus } from '../../marketplace/instances/instance.ts';
import {
  afterPoll,
  allowedUnhealthy,
  type BreakerMemory,
  type BreakerPoll,
  breakerAtStart,
  closeByHand,
} from './breaker.ts';

const closed = breakerAtStart({ type: 'closed' });

/** A complete list in which the first `bad` of `machines` show `status`, or are missing. */
function poll(machines: number, bad: number, status: ActualStatus | 'missing' = 'offline'): BreakerPoll {
  const ids = Array.from({ length: machines }, (_, index) => index + 1);
  const rows = ids.flatMap((id) => {
    if (id > bad) return [[id, { actualStatus: 'running' }] as const];
    return status === 'missing' ? [] : [[id, { actualStatus: status }] as const];
  });
  return { type: 'complete', at: 1000, expected: new Set(ids), rows: new Map(rows) };
}

function memoryAfter(polls: readonly BreakerPoll[], maxUnhealthy: number | string = '20%'): BreakerMemory {
  return polls.reduce((memory, next) => afterPoll(memory, next, maxUnhealthy), closed);
}

describe('opening', () => {
  test.each([
    ['three of ten newly offline are tolerated', [poll(10, 0), poll(10, 3)], 'closed'],
    ['four of ten newly offline open it', [poll(10, 0), poll(10, 4)], 'open'],
    ['four of ten that vanish open it', [poll(10, 0), poll(10, 4, 'missing')], 'open'],
    ['a fifth of forty is tolerated', [poll(40, 0), poll(40, 8)], 'closed'],
    ['more than a fifth of forty opens it', [poll(40, 0), poll(40, 9)], 'open'],
    ['all three machines of a small account are tolerated', [poll(3, 0), poll(3, 3)], 'closed'],
    ['machines that were bad before are no news', [poll(10, 4), poll(10, 4)], 'closed'],
    ['a slow decline of three per poll never opens it', [poll(20, 0), poll(20, 3), poll(20, 6)], 'closed'],
    ['a stopped machine is not bad', [poll(10, 0), poll(10, 9, 'stopped')], 'closed'],
    ['a word that is not known is not judged', [poll(10, 0), poll(10, 9, 'unrecognized')], 'closed'],
    ['the first list of a process opens nothing', [poll(10, 10)], 'closed'],
  ] as const)('%s', (_, polls, state) => {
    expect(memoryAfter(polls).state.type).toBe(state);
  });

  test('a failed list opens it and says so', () => {
    expect(memoryAfter([{ type: 'failed', at: 5 }]).state).toMatchObject({
      type: 'open',
      since: 5,
      cause: 'listFailed',
    });
  });

  test('says why, for people', () => {
    expect(memoryAfter([{ type: 'failed', at: 5 }]).state).toMatchObject({
      message: expect.stringContaining('list of machines failed'),
    });
    expect(memoryAfter([poll(10, 0), poll(10, 7)]).state).toMatchObject({
      message:
        '7 of 10 machines turned bad or vanished in one poll, 3 are allowed; nothing is replaced or swept.',
    });
  });

  test('that a list failed does not hide that machines did', () => {
    const { state } = memoryAfter([poll(10, 0), poll(10, 7), { type: 'failed', at: 2_000 }]);
    expect(state).toMatchObject({ cause: 'massFailure', since: 1_000, newlyBad: 7 });
  });

  test('more machines that turn bad prolong it, and it is open since the first', () => {
    const later = { ...poll(20, 10), at: 3_000 } as BreakerPoll;
    const { state } = memoryAfter([poll(20, 0), poll(20, 5), later]);
    expect(state).toMatchObject({ cause: 'massFailure', since: 1_000, newlyBad: 5 });
  });

  test('machines that turn bad after a list failed are another cause, since then', () => {
    const { state } = memoryAfter([poll(10, 0), { type: 'failed', at: 500 }, poll(10, 7)]);
    expect(state).toMatchObject({ cause: 'massFailure', since: 1_000 });
  });

  test('it says how many turned bad, and since when', () => {
    const { state } = memoryAfter([poll(10, 0), poll(10, 7)]);
    expect(state).toMatchObject({ type: 'open', since: 1000, cause: 'massFailure', newlyBad: 7 });
  });

  test('machines that we let go are not missed', () => {
    const fewer = { ...poll(10, 6, 'missing'), expected: new Set([7, 8, 9, 10]) } as BreakerPoll;
    expect(memoryAfter([poll(10, 0), fewer]).state.type).toBe('closed');
  });
});

describe('closing', () => {
  const opened = [poll(10, 0), poll(10, 5)];

  test.each([
    ['one calm list is not enough', [...opened, poll(10, 5)], 'open'],
    ['two calm lists close it', [...opened, poll(10, 5), poll(10, 5)], 'closed'],
    [
      'a failed list begins the count anew',
      [...opened, poll(10, 5), { type: 'failed', at: 9 }, poll(10, 5)],
      'open',
    ],
    ['another machine turning bad begins the count anew', [...opened, poll(10, 5), poll(10, 6)], 'open'],
  ] as const)('%s', (_, polls, state) => {
    expect(memoryAfter(polls).state.type).toBe(state);
  });

  test('a person closes it, and what is bad by then does not open it again', () => {
    const byHand = closeByHand(memoryAfter(opened));
    expect(afterPoll(byHand, poll(10, 5), '20%').state.type).toBe('closed');
  });

  test('a breaker that was open when the process ended starts open', () => {
    const open = { type: 'open', since: 1, cause: 'massFailure', newlyBad: 9, message: '' } as const;
    const one = afterPoll(breakerAtStart(open), poll(10, 9), '20%');
    expect(one.state.type).toBe('open');
    expect(afterPoll(one, poll(10, 9), '20%').state.type).toBe('closed');
  });
});

describe('how many may turn bad', () => {
  test.each([
    ['20%', 100, 20],
    ['20%', 101, 21],
    ['20%', 4, 3],
    ['100%', 7, 7],
    [5, 100, 5],
    [1, 100, 3],
    ['nonsense', 100, 3],
    ['about 50%', 100, 3],
    ['50% or so', 100, 3],
    ['5000%', 100, 3],
    ['7', 100, 7],
  ])('%s of %d is %d', (maxUnhealthy, machines, allowed) => {
    expect(allowedUnhealthy(maxUnhealthy, machines)).toBe(allowed);
  });
});

test('whatever happened before, two calm lists always close it', () => {
  const anyPoll = fc.oneof(
    fc.constant<BreakerPoll>({ type: 'failed', at: 1 }),
    fc.integer({ min: 0, max: 20 }).map((bad) => poll(20, bad)),
  );
  fc.assert(
    fc.property(fc.array(anyPoll, { maxLength: 30 }), fc.integer({ min: 0, max: 20 }), (history, bad) => {
      const calm = [poll(20, bad), poll(20, bad), poll(20, bad)];
      expect(memoryAfter([...history, ...calm]).state.type).toBe('closed');
    }),
  );
});
