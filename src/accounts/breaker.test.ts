import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MachineState } from '../market/machine.ts';
import {
  afterPoll,
  allowedUnhealthy,
  type BreakerMemory,
  type BreakerPoll,
  type BreakerState,
  breakerAtStart,
  breakerState,
  closeByHand,
  isUnresolved,
} from './breaker.ts';

const MINUTE = 60_000;
const HOLD_MS = 30 * MINUTE;
const closed = breakerAtStart({ type: 'closed' }, { now: 0, monotonic: 0 });

type Bad = MachineState | 'missing';

/** Returns a complete list in which the first `bad` of `machines` show `status`, or are missing. */
function poll(machines: number, bad: number, status: Bad = 'offline', at = 1000): BreakerPoll {
  const ids = Array.from({ length: machines }, (_, index) => index + 1);
  const rows = ids.flatMap((id) => {
    if (id > bad) return [[String(id), { state: 'running' }] as const];
    return status === 'missing' ? [] : [[String(id), { state: status }] as const];
  });
  const expected = new Map(ids.map((id) => [String(id), `object-${id}`]));
  return { type: 'complete', at, monotonic: at, expected, rows: new Map(rows), ending: 0 };
}

const failedAt = (at: number): BreakerPoll => ({ type: 'failed', at });

function memoryAfter(polls: readonly BreakerPoll[], maxUnhealthy: number | string = '20%'): BreakerMemory {
  const settings = { maxUnhealthy, maxHoldMs: HOLD_MS };
  return polls.reduce((memory, next) => afterPoll(memory, next, settings), closed);
}

const stateAfter = (polls: readonly BreakerPoll[], maxUnhealthy?: number | string): BreakerState =>
  breakerState(memoryAfter(polls, maxUnhealthy));

test('stays closed when the machines of one object exit one after the other (scenario 30)', () => {
  const exits = [1, 2, 3, 4, 5, 6, 7].map((id): BreakerPoll => {
    const rows = new Map([[String(id), { state: 'exited' as const }]]);
    return {
      type: 'complete',
      at: id * 10_000,
      monotonic: id * 10_000,
      expected: new Map([[String(id), 'job']]),
      rows,
      ending: 0,
    };
  });
  expect(stateAfter(exits)).toEqual({ type: 'closed' });
});

describe('opens by level (C2)', () => {
  test.each([
    ['two of ten are tolerated', [poll(10, 2)], 'closed'],
    ['three of ten open it', [poll(10, 3)], 'open'],
    ['three of ten that are missing open it', [poll(10, 3, 'missing')], 'open'],
    ['three of ten that exited open it', [poll(10, 3, 'exited')], 'open'],
    ['a fifth of forty is tolerated', [poll(40, 8)], 'closed'],
    ['more than a fifth of forty opens it', [poll(40, 9)], 'open'],
    ['one of two, three or four is tolerated', [poll(2, 1), poll(3, 1), poll(4, 1)], 'closed'],
    ['two of three open it', [poll(3, 2)], 'open'],
    ['both machines of a small account open it', [poll(2, 2)], 'open'],
    ['the only machine opens it if nobody sees its host', [poll(1, 1)], 'open'],
    ['the only machine opens it if its host is silent', [poll(1, 1, 'unseen')], 'open'],
    ['the only machine does not open it if its container ended', [poll(1, 1, 'exited')], 'closed'],
    ['the only machine does not open it if it is missing', [poll(1, 1, 'missing')], 'closed'],
    ['a creeping outage of three per poll opens it', [poll(20, 3), poll(20, 6)], 'open'],
    ['a stopped machine is not bad', [poll(10, 9, 'stopped')], 'closed'],
    ['a word that is not known is not judged', [poll(10, 9, 'unrecognized')], 'closed'],
    ['no machine opens nothing', [poll(0, 0)], 'closed'],
  ] as const)('%s', (_, polls, state) => {
    expect(stateAfter(polls).type).toBe(state);
  });

  test.each([
    [5, poll(20, 5), 'closed'],
    [5, poll(20, 6), 'open'],
    [5, poll(3, 3), 'open'],
    [0, poll(20, 1), 'open'],
    ['0%', poll(20, 1), 'open'],
    ['100%', poll(20, 20), 'closed'],
    ['100%', poll(1, 1), 'closed'],
  ] as const)('goes by maxUnhealthy %s', (maxUnhealthy, seen, state) => {
    expect(stateAfter([seen], maxUnhealthy).type).toBe(state);
  });

  describe('and by machines that turn bad one after the other', () => {
    const at = (bad: number, second: number, status: Bad = 'exited') => poll(200, bad, status, second * 1000);

    test.each(['exited', 'offline', 'unseen', 'missing'] as const)(
      'three of 200 in each list, %s (C2)',
      (status) => {
        expect(stateAfter([at(3, 0, status)]).type).toBe('closed');
        expect(stateAfter([at(3, 0, status), at(6, 10, status)])).toMatchObject({
          type: 'open',
          unhealthy: 6,
          message:
            '6 of 200 machines became unhealthy or missing, one after the other; nothing is replaced or swept.',
        });
      },
    );

    test.each([
      ['five are tolerated', [at(3, 0), at(5, 10)], 'closed'],
      ['a tolerated share at once is', [at(40, 0), at(40, 10)], 'closed'],
      ['two minutes apart are not counted together', [at(3, 0), at(6, 121)], 'closed'],
      ['two minutes are', [at(3, 0), at(6, 120)], 'open'],
      ['those that are well again are not counted', [at(3, 0), at(0, 10), at(6, 20)], 'closed'],
      [
        'once nothing changed for two minutes it closes',
        [at(3, 0), at(6, 1), at(6, 122), at(6, 123)],
        'closed',
      ],
    ] as const)('%s', (_, polls, state) => {
      expect(stateAfter(polls).type).toBe(state);
    });

    test('but not if maxUnhealthy turns the breaker off', () => {
      expect(stateAfter([at(3, 0), at(60, 10)], '100%').type).toBe('closed');
    });

    test('says that more than allowed are bad as soon as they are', () => {
      expect(stateAfter([at(3, 0), at(6, 1), at(41, 2), at(42, 3)])).toMatchObject({
        message: expect.stringContaining('42 of 200 machines became unhealthy or missing, more than'),
      });
    });

    test('counts machines of before a restart that are still bad with those of after', () => {
      const memory = breakerAtStart({ type: 'closed' }, { now: 0, monotonic: 0 });
      const settings = { maxUnhealthy: '20%', maxHoldMs: HOLD_MS };
      const once = afterPoll(memory, at(30, 1), settings);
      expect(breakerState(once).type).toBe('closed');
      expect(breakerState(afterPoll(once, at(33, 11), settings)).type).toBe('open');
    });
  });

  test('a failed list opens it and says so', () => {
    expect(stateAfter([failedAt(5)])).toMatchObject({
      type: 'open',
      since: 5,
      cause: 'listFailed',
      unhealthy: 0,
    });
    expect(stateAfter([failedAt(5), failedAt(9)])).toMatchObject({ since: 5 });
  });

  test('says why, for people, with the most that were bad at a time', () => {
    expect(stateAfter([failedAt(5)])).toMatchObject({
      message: expect.stringContaining('list of machines failed'),
    });
    expect(stateAfter([poll(10, 7), poll(10, 4), poll(10, 6)])).toMatchObject({
      unhealthy: 7,
      message:
        '7 of 10 machines became unhealthy or missing, more than maxUnhealthy allows; nothing is replaced or swept.',
    });
    expect(stateAfter([poll(10, 4), poll(10, 7)])).toMatchObject({ unhealthy: 7 });
  });

  test('that a list failed does not hide that machines did, nor since when', () => {
    const state = stateAfter([poll(10, 7), failedAt(2_000), poll(10, 7, 'offline', 3_000)]);
    expect(state).toMatchObject({ cause: 'massFailure', since: 1_000, unhealthy: 7 });
  });

  test('machines that turn bad after a list failed are another cause, since then', () => {
    expect(stateAfter([failedAt(500), poll(10, 7)])).toMatchObject({ cause: 'massFailure', since: 1_000 });
  });
});

describe('closes', () => {
  test.each([
    ['not while as many are bad (C2)', [poll(10, 5), ...Array(50).fill(poll(10, 5))], 'open'],
    ['not after one calm list', [poll(10, 5), poll(10, 2)], 'open'],
    ['not after one calm list that shows none bad', [poll(10, 5), poll(10, 0)], 'open'],
    ['after two calm lists', [poll(10, 5), poll(10, 0), poll(10, 0)], 'closed'],
    [
      'not after two calm lists with a failed one between',
      [poll(10, 5), poll(10, 0), failedAt(9), poll(10, 0)],
      'open',
    ],
    [
      'not after two calm lists with a bad one between',
      [poll(10, 5), poll(10, 0), poll(10, 5), poll(10, 0)],
      'open',
    ],
    ['after two complete lists where lists failed', [failedAt(1), poll(10, 0), poll(10, 0)], 'closed'],
    ['not after one complete list where lists failed', [failedAt(1), poll(10, 0)], 'open'],
  ] as const)('%s', (_, polls, state) => {
    expect(stateAfter(polls).type).toBe(state);
  });

  test('not while machines still come back, and two lists after none has for two minutes (C2)', () => {
    const seconds = (bad: number, at: number) => poll(200, bad, 'exited', at * 1000);
    const back = [seconds(60, 0), seconds(39, 10), seconds(33, 30)];
    expect(stateAfter(back).type).toBe('open');
    const still = [...back, seconds(33, 150)];
    expect(stateAfter(still).type).toBe('open');
    expect(stateAfter([...still, seconds(33, 151)]).type).toBe('open');
    expect(stateAfter([...still, seconds(33, 151), seconds(33, 161)]).type).toBe('closed');
  });

  test('while no more come back than may fail by themselves', () => {
    const fleetOf = (machines: number, bad: number, at: number) => poll(machines, bad, 'offline', at);
    const calm = (machines: number, from: number, to: number) =>
      stateAfter([fleetOf(machines, from, 0), fleetOf(machines, to, 1), fleetOf(machines, to, 2)]).type;
    expect(calm(20, 5, 4)).toBe('closed');
    expect(calm(20, 5, 1)).toBe('closed');
    expect(calm(20, 6, 1)).toBe('open');
    expect(calm(200, 41, 36)).toBe('closed');
    expect(calm(200, 41, 35)).toBe('open');
  });

  test('whatever happened before, two calm lists two minutes later always close it', () => {
    const anyPoll = fc.oneof(
      fc.constant(failedAt(1)),
      fc.integer({ min: 0, max: 20 }).map((bad) => poll(20, bad)),
    );
    fc.assert(
      fc.property(fc.array(anyPoll, { maxLength: 30 }), fc.integer({ min: 0, max: 4 }), (history, bad) => {
        const calm = [1_000, 121_001, 121_002].map((at) => poll(20, bad, 'offline', at));
        expect(stateAfter([...history, ...calm]).type).toBe('closed');
      }),
    );
  });
});

describe('is released (C2)', () => {
  const late = (bad: number, at: number) => poll(10, bad, 'offline', at);

  test('by the maximum hold, at the first complete list after it and not before', () => {
    expect(stateAfter([late(5, 0), late(5, HOLD_MS - 1)]).type).toBe('open');
    expect(stateAfter([late(5, 0), failedAt(HOLD_MS)]).type).toBe('open');
    const state = stateAfter([late(5, 0), late(5, HOLD_MS)]);
    expect(state).toMatchObject({
      type: 'slow',
      releasedBy: 'hold',
      since: 0,
      releasedAt: HOLD_MS,
      unhealthy: 5,
    });
    expect(isUnresolved(state)).toBe(true);
  });

  test('by a person, for as long as as many are bad', () => {
    const byHand = closeByHand(memoryAfter([poll(10, 5)]), 1_500);
    expect(breakerState(byHand, 'u1')).toMatchObject({
      type: 'slow',
      releasedBy: 'person',
      releasedAt: 1_500,
      turn: 'u1',
      message:
        '5 of 10 machines became unhealthy or missing; they are replaced one at a time, at most 10% in 10 minutes.',
    });
    expect(isUnresolved(breakerState(byHand))).toBe(false);
    const settings = { maxUnhealthy: '20%', maxHoldMs: HOLD_MS };
    const next = [poll(10, 5), poll(10, 6)].reduce(
      (memory, each) => afterPoll(memory, each, settings),
      byHand,
    );
    expect(breakerState(next)).toMatchObject({ type: 'slow', releasedBy: 'person', unhealthy: 6 });
    const calm = [poll(10, 0), poll(10, 0)].reduce((memory, each) => afterPoll(memory, each, settings), next);
    expect(breakerState(calm).type).toBe('closed');
  });

  test('and holds again while lists fail, and until two were complete', () => {
    const slow = memoryAfter([late(5, 0), late(5, HOLD_MS), failedAt(HOLD_MS + 1)]);
    expect(breakerState(slow)).toMatchObject({ type: 'open', cause: 'listFailed' });
    const settings = { maxUnhealthy: '20%', maxHoldMs: HOLD_MS };
    const once = afterPoll(slow, late(5, HOLD_MS + 2), settings);
    expect(breakerState(once).type).toBe('open');
    expect(breakerState(afterPoll(once, late(5, HOLD_MS + 3), settings)).type).toBe('slow');
  });

  test('a person closes what only a failed list opened', () => {
    expect(breakerState(closeByHand(memoryAfter([failedAt(1)]), 2)).type).toBe('closed');
  });
});

describe('after a restart', () => {
  const settings = { maxUnhealthy: '20%', maxHoldMs: HOLD_MS };
  const open = { type: 'open', since: 0, cause: 'massFailure', unhealthy: 9, message: '' } as const;

  test('it is open as before, and its hold goes on (C2)', () => {
    const memory = breakerAtStart(open, { now: 20 * MINUTE, monotonic: 1_000 });
    expect(breakerState(memory)).toMatchObject({ type: 'open', since: 0, unhealthy: 9 });
    const at = (ms: number) => afterPoll(memory, poll(10, 9, 'offline', ms), settings);
    expect(breakerState(at(10 * MINUTE)).type).toBe('open');
    expect(breakerState(at(10 * MINUTE + 1_000)).type).toBe('slow');
  });

  test('a wall clock behind the one of before does not end its hold', () => {
    const memory = breakerAtStart({ ...open, since: 60 * MINUTE }, { now: 0, monotonic: 0 });
    expect(breakerState(afterPoll(memory, poll(10, 9, 'offline', 1), settings)).type).toBe('open');
  });

  test('one that was released stays so', () => {
    const slow = { ...open, type: 'slow', releasedAt: 5, releasedBy: 'person', turn: undefined } as const;
    expect(breakerState(breakerAtStart(slow, { now: 9, monotonic: 9 }))).toMatchObject({
      type: 'slow',
      releasedBy: 'person',
      releasedAt: 5,
    });
  });

  test('a failed list is remembered as such', () => {
    const failed = { ...open, cause: 'listFailed' } as const;
    expect(breakerState(breakerAtStart(failed, { now: 9, monotonic: 9 }))).toMatchObject({
      cause: 'listFailed',
    });
  });
});

describe('machines that are to end at once by limit, price, drift or idleness', () => {
  const ending = (machines: number, number: number): BreakerPoll => ({
    ...(poll(machines, 0) as Extract<BreakerPoll, { type: 'complete' }>),
    ending: number,
  });

  test.each([
    ['keep the breaker closed when there are three of them', 10, 3, '20%', 'closed'],
    ['open the breaker when there are more than three (A1)', 10, 4, '20%', 'open'],
    ['keep the breaker closed when the account tolerates as many', 100, 20, '20%', 'closed'],
    ['keep the breaker closed when the account tolerates all', 10, 10, '100%', 'closed'],
  ])('%s', (_, machines, number, maxUnhealthy, type) => {
    expect(stateAfter([ending(machines, number)], maxUnhealthy).type).toBe(type);
  });

  test('scenario 117: are named by the breaker that they open, and not after two calm polls (A1)', () => {
    expect(stateAfter([ending(10, 10)])).toMatchObject({
      cause: 'massEnds',
      message: '10 of 10 machines would end at once by limit, price, drift or idleness; none is ended.',
    });
    expect(stateAfter([ending(10, 10), ending(10, 0), ending(10, 0)])).toEqual({ type: 'closed' });
  });
});

describe('how many may be bad', () => {
  test.each([
    ['20%', 100, 20],
    ['20%', 109, 21],
    ['20%', 4, 1],
    ['0%', 7, 0],
    ['100%', 7, undefined],
    [5, 100, 5],
    [0, 100, 0],
    ['nonsense', 100, 1],
    ['about 50%', 100, 1],
    ['7', 100, 7],
  ])('%s of %d is %s', (maxUnhealthy, machines, allowed) => {
    expect(allowedUnhealthy(maxUnhealthy, machines)).toBe(allowed);
  });
});
