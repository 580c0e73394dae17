import { expect, test } from 'vitest';
import { given, intent, NOW, row, withMachine } from '../../../test/builders/observed.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Feed } from '../../market/feed.ts';
import type { CompleteList } from '../../market/feed-state.ts';
import { ObjectMemory, SteadyClock } from './memory.ts';

const HOUR = 3_600_000;

function clocks() {
  const time = { wall: NOW, monotonic: 77 };
  const clock: Clock = {
    now: () => time.wall,
    monotonic: () => time.monotonic,
    setTimer: () => ({ cancel() {} }),
  };
  const pass = (ms: number) => {
    time.wall += ms;
    time.monotonic += ms;
  };
  return { time, steady: new SteadyClock(clock), pass };
}

const feed = {} as Feed;
const list = (begunAt: number, endedAt: number): CompleteList => ({ begunAt, endedAt, rows: new Map() });

test('scenario 58: elapsed time is not changed by a jump of the wall clock', () => {
  const { time, steady, pass } = clocks();
  const before = steady.now();
  time.wall += HOUR;
  pass(5_000);
  time.wall -= 3 * HOUR;
  expect(steady.now() - before).toBe(5_000);
});

test('begins at the wall time and places monotonic times on the same scale', () => {
  const { time, steady, pass } = clocks();
  expect(steady.now()).toBe(NOW);
  pass(5_000);
  time.wall -= HOUR;
  expect(steady.fromMonotonic(time.monotonic)).toBe(steady.now());
  expect(steady.fromMonotonic(time.monotonic - 2_000)).toBe(NOW + 3_000);
});

test('a list began as long before its arrival as it took', () => {
  const { steady, pass } = clocks();
  pass(10_000);
  steady.noteList(feed, list(NOW + 9_700, NOW + 10_000));
  expect(steady.listTimes(feed, [NOW + 9_700])).toEqual([steady.now() - 300]);
});

test.each([
  ['the clock was set ahead while it was read', NOW, NOW + HOUR],
  ['the clock was set back while it was read', NOW, NOW - HOUR],
])('a list began before everything where %s', (_, begunAt, endedAt) => {
  const { steady } = clocks();
  steady.noteList(feed, list(begunAt, endedAt));
  expect(steady.listTimes(feed, [begunAt])).toEqual([Number.NEGATIVE_INFINITY]);
});

test('scenario 58: a list that arrives after the wall clock was set began as long ago as it took, too', () => {
  const { time, steady, pass } = clocks();
  pass(10_000);
  time.wall -= HOUR;
  steady.noteList(feed, list(time.wall - 300, time.wall));
  expect(steady.listTimes(feed, [time.wall - 300])).toEqual([steady.now() - 300]);
});

test('scenario 58: what is on record is as long ago as the wall clock says now, and never still to come', () => {
  const { time, steady, pass } = clocks();
  pass(10_000);
  time.wall -= HOUR;
  expect(steady.fromWall(time.wall - 5_000)).toBe(steady.now() - 5_000);
  expect(steady.fromWall(time.wall + HOUR)).toBe(steady.now());
});

test('a list that this process did not see arrive began before everything', () => {
  const { steady } = clocks();
  expect(steady.listTimes(feed, [NOW])).toEqual([Number.NEGATIVE_INFINITY]);
});

test('times of lists are remembered for the lists that a feed remembers', () => {
  const { steady } = clocks();
  for (let index = 0; index < 300; index++) steady.noteList(feed, list(NOW + index, NOW + index));
  const times = steady.listTimes(feed, [NOW, NOW + 43, NOW + 44, NOW + 299]);
  expect(times.map(Number.isFinite)).toEqual([true, false, true, true]);
});

const sight = (steady: SteadyClock, change: Record<string, unknown> = {}) => {
  const observed = given(withMachine());
  return {
    object: observed.object,
    intent: observed.purchase.intent,
    recorded: undefined,
    list: undefined,
    steady,
    serviceNow: NOW,
    ...change,
  };
};

test('the deadline of an intent is fixed when it is first seen, by how long ago the service says it was issued', () => {
  const { time, steady, pass } = clocks();
  const memory = new ObjectMemory();
  const first = intent({ issuedAt: NOW - 20_000, deadline: NOW + 10_000 });
  memory.note(sight(steady, { intent: { type: 'intent', intent: first } }));
  const fixed = memory.view().intentDeadline;
  expect(fixed).toEqual({ attempt: 1, at: steady.now() + 10_000 });
  time.wall += HOUR;
  pass(1_000);
  memory.note(sight(steady, { intent: { type: 'intent', intent: first }, serviceNow: NOW + HOUR }));
  expect(memory.view().intentDeadline).toEqual(fixed);
});

test('an intent that is first seen when no clock can be trusted counts as issued now', () => {
  const { steady } = clocks();
  const memory = new ObjectMemory();
  const old = intent({ issuedAt: NOW - HOUR, deadline: NOW - HOUR + 30_000 });
  memory.note(sight(steady, { intent: { type: 'intent', intent: old }, serviceNow: undefined }));
  expect(memory.view().intentDeadline?.at).toBe(steady.now() + 30_000);
});

test('the deadline of an intent counts from its issue as soon as the service says its time (H2)', () => {
  const { steady, pass } = clocks();
  const memory = new ObjectMemory();
  const old = intent({ issuedAt: NOW - 20_000, deadline: NOW + 10_000 });
  memory.note(sight(steady, { intent: { type: 'intent', intent: old }, serviceNow: undefined }));
  pass(5_000);
  memory.note(sight(steady, { intent: { type: 'intent', intent: old }, serviceNow: NOW + 5_000 }));
  expect(memory.view().intentDeadline).toEqual({ attempt: 1, at: steady.now() + 5_000 });
});

test('scenario 58: a bad word counts from when this process first saw it, whatever the record says', () => {
  const { steady, pass } = clocks();
  const object = given(
    withMachine({}, { status: { actualStatus: 'offline', actualStatusSince: '2026-01-01T00:00:00Z' } }),
  ).object;
  const memory = new ObjectMemory();
  const seen = { object, recorded: row({ state: 'offline' }), list: list(NOW, NOW) };
  memory.note(sight(steady, seen));
  pass(9_000);
  memory.note(sight(steady, seen));
  expect(memory.view().seenStatus).toEqual({
    state: 'offline',
    marketStatus: 'offline',
    since: steady.now() - 9_000,
  });
});

test('the end of a bad spell is remembered, and a good word is no end of one', () => {
  const { steady, pass } = clocks();
  const memory = new ObjectMemory();
  const see = (actualStatus: 'running' | 'unseen' | 'loading') =>
    memory.note(sight(steady, { recorded: row({ state: actualStatus }), list: list(NOW, NOW) }));
  see('loading');
  see('running');
  expect(memory.view().badEndedAt).toBeUndefined();
  see('unseen');
  pass(1_000);
  see('running');
  expect(memory.view().badEndedAt).toBe(steady.now());
});

test('what failed by one spec is tried at once by the next', () => {
  const { steady } = clocks();
  const memory = new ObjectMemory();
  const object = given({}).object;
  memory.note(sight(steady, { object }));
  memory.backOff(steady.now(), 60_000, { reason: 'InvalidSpec', detail: 'd' });
  memory.note(sight(steady, { object }));
  expect(memory.view()).toMatchObject({ failures: 1, refusal: { reason: 'InvalidSpec' } });
  memory.note(sight(steady, { object: { ...object, metadata: { ...object.metadata, generation: 2 } } }));
  expect(memory.view()).toMatchObject({ failures: 0, notBefore: 0, refusal: undefined });
});
