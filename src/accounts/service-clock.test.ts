import { describe, expect, test } from 'vitest';
import type { Clock } from '../lib/clock.ts';
import { believedNow, ServiceClock, serviceNow, timeOfAnswer } from './service-clock.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 10, 20, 12, 0, 0);

/**
 * Returns a service clock over an operator clock; both show noon. `ahead`: milliseconds by which the service's clock is
 * ahead.
 */
function setting(ahead = 0) {
  const time = { wall: NOON, monotonic: 5 };
  const clock: Clock = {
    now: () => time.wall,
    monotonic: () => time.monotonic,
    setTimer: () => ({ cancel() {} }),
  };
  const service = new ServiceClock(clock);
  let passed = 0;
  const pass = (ms: number) => {
    passed += ms;
    time.wall += ms;
    time.monotonic += ms;
  };
  const onReply = (off = 0, headers: Record<string, string> = {}) =>
    service.onReply({ date: new Date(NOON + passed + ahead + off).toUTCString(), ...headers });
  /** Records a complete list of one reply, ten seconds after the previous one. */
  const list = (off = 0, headers: Record<string, string> = {}) => {
    pass(10 * SECOND);
    onReply(off, headers);
    service.onCompleteList();
  };
  const offset = () => {
    const now = service.now();
    return now.type === 'known' ? now.at - NOON - passed : now.type;
  };
  return { time, service, pass, onReply, list, offset };
}

test('the time is unknown until a reply names it, and stays so if none does', () => {
  const { service } = setting();
  service.onReply({});
  service.onReply({ date: 'noon' });
  expect(service.now()).toEqual({ type: 'unknown' });
});

test('the time goes on from the last reply, however wrong our own clock is', () => {
  const { pass, onReply, service } = setting();
  onReply();
  pass(1_500);
  expect(service.now()).toMatchObject({ type: 'known', at: NOON + 1_500 });
});

describe('a step (H2)', () => {
  test.each([2 * DAY, -2 * HOUR, 61 * SECOND])(
    'scenario 77: is not believed when one reply is %i ms off',
    (off) => {
      const { list, offset } = setting();
      list();
      list(off);
      expect(offset()).toBe('stale');
      list();
      expect(offset()).toBe(0);
    },
  );

  test('is believed when two later replies agree with it and it has held for a minute, and not before', () => {
    const { list, offset, pass } = setting();
    list();
    for (let turn = 0; turn < 3; turn += 1) {
      list(HOUR);
      expect(offset()).toBe('stale');
    }
    pass(59 * SECOND);
    expect(offset()).toBe('stale');
    pass(SECOND);
    expect(offset()).toBe(HOUR);
  });

  test('does not count as long as lists contradict reads, which are more (seed 300000380)', () => {
    const { list, onReply, pass, offset } = setting();
    list();
    for (let turn = 0; turn < 12; turn += 1) {
      for (let read = 0; read < 4; read += 1) {
        pass(2 * SECOND);
        onReply(HOUR);
        expect(offset()).not.toBe(HOUR);
      }
      list();
    }
  });

  test('is not believed when the replies after it disagree with each other', () => {
    const { list, offset } = setting();
    list();
    for (const off of [HOUR, 2 * HOUR, HOUR, 3 * HOUR]) list(off);
    expect(offset()).toBe('stale');
  });

  test('at the first reply counts against our wall clock, and a service that is two hours off still works', () => {
    const { list, offset, pass } = setting(2 * HOUR);
    for (let turn = 0; turn < 3; turn += 1) {
      list();
      expect(offset()).toBe('stale');
    }
    pass(60 * SECOND);
    expect(offset()).toBe(2 * HOUR);
  });

  test('of one backend of two never moves the time of the other one', () => {
    const { list, offset } = setting();
    for (let turn = 0; turn < 5; turn += 1) {
      list();
      expect(offset()).toBe(0);
      list(HOUR);
      expect(offset()).toBe('stale');
    }
  });
});

test('a difference below a minute does not move the time when one reply shows it', () => {
  const { list, offset } = setting();
  for (const off of [0, 50 * SECOND, 0, -50 * SECOND, 0]) {
    list(off);
    expect(offset()).toBe(0);
  }
});

test('a slow drift is followed', () => {
  const { list, offset } = setting();
  for (let turn = 0; turn < 60; turn += 1) list(turn * SECOND);
  expect(offset()).toBeGreaterThanOrEqual(56 * SECOND);
});

test('scenario 77: a reply from a cache counts for nothing, whatever its date (H2)', () => {
  const { list, offset } = setting();
  for (let turn = 0; turn < 3; turn += 1) list(-HOUR, { age: '3600' });
  expect(offset()).toBe('unknown');
  list(0, { age: '0' });
  for (let turn = 0; turn < 4; turn += 1) list(-HOUR, { age: '3600' });
  expect(offset()).toBe(0);
});

describe('a limit may destroy by it (H2)', () => {
  const isConfirmed = ({ service }: ReturnType<typeof setting>) => {
    const now = service.now();
    return now.type === 'known' && now.isConfirmed;
  };

  test('scenario 77: only when two complete lists agree on it', () => {
    const one = setting();
    one.list();
    one.onReply();
    one.onReply();
    expect(isConfirmed(one)).toBe(false);
    one.list();
    expect(isConfirmed(one)).toBe(true);
  });

  test('never when lists without a date arrive after a single reply with one', () => {
    const one = setting();
    one.list();
    for (let turn = 0; turn < 3; turn += 1) one.service.onCompleteList();
    expect(isConfirmed(one)).toBe(false);
  });

  test('only when a step has lasted for a minute', () => {
    const one = setting();
    for (let turn = 0; turn < 3; turn += 1) one.list();
    for (let turn = 0; turn < 3; turn += 1) one.list(2 * DAY);
    for (let turn = 0; turn < 5; turn += 1) {
      one.list(2 * DAY);
      expect(isConfirmed(one)).toBe(false);
    }
    one.list(2 * DAY);
    expect(isConfirmed(one)).toBe(true);
  });
});

describe('our own clocks', () => {
  test.each([
    ['the wall clock was set ahead', HOUR, 0],
    ['the wall clock was set back', -HOUR, 0],
  ])('scenario 58: the time is stale when %s, until the next reply (H2)', (_, wall, monotonic) => {
    const { time, onReply, offset } = setting();
    onReply();
    time.wall += wall;
    time.monotonic += monotonic;
    expect(offset()).toBe('stale');
    onReply();
    expect(offset()).toBe(0);
  });

  test('scenario 58: the time goes on when the machine slept and the next reply agrees with the wall clock (H2)', () => {
    const { time, list, pass, onReply, service, offset } = setting();
    for (let turn = 0; turn < 3; turn += 1) list();
    time.monotonic -= HOUR;
    pass(HOUR);
    expect(offset()).toBe('stale');
    onReply();
    expect(service.now()).toMatchObject({ type: 'known', isConfirmed: false });
    expect(offset()).toBe(0);
  });

  test('a wall clock that jumps together with one wrong reply moves nothing (H2)', () => {
    const { time, list, onReply, offset } = setting();
    for (let turn = 0; turn < 3; turn += 1) list();
    time.wall += HOUR;
    onReply(-3 * HOUR);
    expect(offset()).toBe('stale');
    onReply();
    expect(offset()).toBe(0);
  });
});

test('a stale time is no time, and an unknown one is ours', () => {
  expect(serviceNow({ type: 'stale' }, NOON)).toBeUndefined();
  expect(serviceNow({ type: 'unknown' }, NOON)).toBe(NOON);
  expect(serviceNow({ type: 'known', at: 5, isConfirmed: false }, NOON)).toBe(5);
});

test.each([
  ['the known time', { type: 'known', at: 5, isConfirmed: false }, 5],
  ['the time before, when later replies contradict it', { type: 'stale', expected: 7 }, 7],
  ["the operator's time when a first reply contradicts it", { type: 'stale' }, NOON],
  ["the operator's time when the service never sends one", { type: 'unknown' }, NOON],
] as const)('money is dated by %s', (_, time, expected) => {
  expect(believedNow(time, NOON)).toBe(expected);
});

test('an answer is dated by itself while the time is stale, if the time of before or our clock agrees (seed 35932746)', () => {
  const stale = { type: 'stale', expected: NOON } as const;
  expect(timeOfAnswer(NOON + SECOND, stale, NOON - HOUR)).toBe(NOON + SECOND);
  expect(timeOfAnswer(NOON - HOUR + SECOND, stale, NOON - HOUR)).toBe(NOON - HOUR + SECOND);
  expect(timeOfAnswer(NOON + DAY, stale, NOON - HOUR)).toBe(NOON);
});

test.each([
  ['its own date if that agrees with the service', 3 * SECOND, 3 * SECOND],
  ['the time of the service if its own date is days off', 2 * DAY, 0],
  ['the time of the service if it has no date', undefined, 0],
])('an answer is dated by %s (H2)', (_, off, expected) => {
  const at = NOON - HOUR;
  const date = off === undefined ? undefined : at + off;
  expect(timeOfAnswer(date, { type: 'known', at, isConfirmed: true }, NOON)).toBe(at + expected);
  expect(timeOfAnswer(undefined, { type: 'stale' }, NOON)).toBe(NOON);
});
