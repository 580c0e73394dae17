import { describe, expect, test } from 'vitest';
import { row } from '../../../test/builders/observed.ts';
import type { MachineRow } from '../../market/machine.ts';
import { isBelow, UtilizationHistory } from './utilization.ts';

const POLL_MS = 10_000;
const MINUTE = 60_000;

type Shown = Partial<MachineRow> | 'missing';

const used = (percent: number): Shown => ({ gpuUtilization: percent / 100 });
const IDLE = used(0);

/** Returns a login whose lists are polled every ten seconds. */
function watched() {
  const history = new UtilizationHistory();
  let now = 0;
  const shows = (shown: Shown) => {
    const rows = shown === 'missing' ? [] : [row(shown)];
    history.noteList({ rows: new Map(rows.map((each) => [each.id, each])) }, now, POLL_MS);
  };
  const world = {
    history,
    now: () => now,
    /** Lists that show this for so many minutes. */
    lists(shown: Shown, minutes: number) {
      for (const end = now + minutes * MINUTE; now < end; now += POLL_MS) shows(shown);
      return world;
    },
    /** Lets minutes pass without a list. */
    silent(minutes: number) {
      now += minutes * MINUTE;
      return world;
    },
    /** Minutes since which every reply shows the machine as idle. */
    idleMinutes(below = 5) {
      const spell = history.idleSpell('1', below);
      return spell && (now - spell.since) / MINUTE;
    },
    coveredShare(minutes: number) {
      return history.coveredMs(now - minutes * MINUTE, now) / (minutes * MINUTE);
    },
  };
  return world;
}

const warm = () => watched().lists(IDLE, 15);

describe('the idle time of a machine', () => {
  test('begins after a quarter of an hour of running', () => {
    expect(warm().idleMinutes()).toBeUndefined();
    expect(warm().lists(IDLE, 20).idleMinutes()).toBe(20);
  });

  test('begins again with the running of a machine that was stopped, lost or missing', () => {
    for (const shown of [{ state: 'stopped' }, { state: 'unseen' }, 'missing'] as const) {
      const world = warm().lists(IDLE, 20).lists(shown, 1).lists(IDLE, 15);
      expect(world.idleMinutes(), JSON.stringify(shown)).toBeUndefined();
      expect(world.lists(IDLE, 5).idleMinutes()).toBe(5);
    }
  });

  test('ends with one figure at or above the threshold, and not with one below it', () => {
    const world = warm().lists(IDLE, 20);
    expect(world.lists(used(4.9), 1).idleMinutes()).toBe(21);
    expect(world.lists(used(5), 1).idleMinutes()).toBeUndefined();
    expect(world.lists(IDLE, 3).idleMinutes()).toBe(3);
  });

  test('ends with a missing figure', () => {
    const world = warm().lists(IDLE, 20).lists({ gpuUtilization: undefined }, 1);
    expect(world.idleMinutes()).toBeUndefined();
    expect(world.lists(IDLE, 2).idleMinutes()).toBe(2);
  });

  test('is counted for each threshold by itself', () => {
    const world = warm().lists(used(90), 1).lists(used(12), 10).lists(used(7), 10).lists(used(0), 10);
    expect([1, 5, 7, 8, 12, 13, 50].map((below) => world.idleMinutes(below))).toEqual([
      10, 10, 10, 20, 20, 30, 30,
    ]);
  });

  test('knows the threshold of every whole percent exactly', () => {
    for (let percent = 1; percent < 50; percent++) {
      const world = warm().lists(used(percent), 1);
      expect(world.idleMinutes(percent), `${percent} below ${percent}`).toBeUndefined();
      expect(world.idleMinutes(percent + 1), `${percent} below ${percent + 1}`).toBe(1);
    }
  });

  test('ends with half the utilization at every threshold', () => {
    expect(warm().lists(used(49.9), 1).idleMinutes(50)).toBe(1);
    expect(warm().lists(used(50), 1).idleMinutes(50)).toBeUndefined();
  });

  test('ends with a read that shows a use, however idle lists say it is', () => {
    const world = warm().lists(IDLE, 20);
    world.history.noteRead(row({ gpuUtilization: 0.5 }), world.now());
    expect(world.idleMinutes()).toBeUndefined();
    expect(world.lists(IDLE, 3).history.idleSpell('1', 5)).toEqual({
      since: world.now() - 3 * MINUTE,
      lists: 18,
    });
  });

  test('ends with a read that shows the machine stopped, whatever its figure', () => {
    const world = warm().lists(IDLE, 20);
    world.history.noteRead(row({ state: 'stopped', gpuUtilization: 0 }), world.now());
    expect(world.idleMinutes()).toBeUndefined();
  });

  test('counts no read as a list', () => {
    const world = warm().lists(IDLE, 1);
    world.history.noteRead(row({ gpuUtilization: 0.5 }), world.now());
    world.history.noteRead(row({ gpuUtilization: 0 }), world.now());
    expect(world.history.idleSpell('1', 5)).toMatchObject({ lists: 0 });
  });

  test('does not exist of a machine that no list showed', () => {
    const { history } = watched();
    history.noteRead(row(), 0);
    expect(history.idleSpell('1', 5)).toBeUndefined();
  });

  test('counts its lists', () => {
    expect(warm().lists(IDLE, 2).history.idleSpell('1', 5)).toMatchObject({ lists: 12 });
  });
});

describe('the time that lists speak for', () => {
  test('is all of it while lists arrive', () => {
    expect(warm().lists(IDLE, 30).coveredShare(30)).toBeGreaterThan(0.99);
  });

  test('lacks a gap beyond the two minutes before the next list', () => {
    const world = warm().lists(IDLE, 10).silent(8).lists(IDLE, 12);
    expect(world.coveredShare(30)).toBeCloseTo(0.8, 1);
    expect(world.lists(IDLE, 30).coveredShare(30)).toBeGreaterThan(0.99);
  });

  test('lacks the time since the latest list', () => {
    expect(warm().lists(IDLE, 20).silent(10).coveredShare(30)).toBeCloseTo(2 / 3, 1);
  });

  test('is none before the first list', () => {
    expect(watched().silent(30).coveredShare(30)).toBe(0);
  });

  test('reaches over longer poll intervals', () => {
    const history = new UtilizationHistory();
    const rows = new Map([['1', row({ gpuUtilization: 0 })]]);
    for (let at = 0; at <= 60 * MINUTE; at += 10 * MINUTE) history.noteList({ rows }, at, 10 * MINUTE);
    expect(history.coveredMs(0, 60 * MINUTE)).toBe(60 * MINUTE);
    history.noteList({ rows }, 90 * MINUTE, 10 * MINUTE);
    expect(history.coveredMs(0, 90 * MINUTE)).toBe(75 * MINUTE);
  });

  test('is never longer than with all gaps remembered', () => {
    const history = new UtilizationHistory();
    const rows = new Map([['1', row({ gpuUtilization: 0 })]]);
    const end = 100 * 5 * MINUTE;
    for (let at = 0; at <= end; at += 5 * MINUTE) history.noteList({ rows }, at, POLL_MS);
    expect(history.coveredMs(0, end)).toBeLessThanOrEqual(100 * 2 * MINUTE);
    expect(history.coveredMs(end - 60 * MINUTE, end)).toBe(12 * 2 * MINUTE);
  });

  test('is all of it when every list arrives exactly as late as its figures reach', () => {
    const history = new UtilizationHistory();
    const rows = new Map([['1', row({ gpuUtilization: 0 })]]);
    const end = 100 * 2 * MINUTE;
    for (let at = 0; at <= end; at += 2 * MINUTE) history.noteList({ rows }, at, POLL_MS);
    expect(history.coveredMs(0, end)).toBe(end);
  });

  test('lacks all between the oldest gaps once there are more than 64 of them', () => {
    const history = new UtilizationHistory();
    const rows = new Map([['1', row({ gpuUtilization: 0 })]]);
    const coveredAfter = (gaps: number) => {
      const end = gaps * 5 * MINUTE;
      history.noteList({ rows }, end, POLL_MS);
      return history.coveredMs(0, end) / (2 * MINUTE);
    };
    const covered = Array.from({ length: 101 }, (_, gaps) => coveredAfter(gaps));
    expect([covered[63], covered[64], covered[65], covered[100]]).toEqual([63, 64, 64, 64]);
  });

  test('lacks a recent gap, however long the operator has been running', () => {
    const history = new UtilizationHistory();
    const rows = new Map([['1', row({ gpuUtilization: 0 })]]);
    const start = 30 * 24 * 60 * MINUTE;
    for (const at of [0, 10, 11]) history.noteList({ rows }, start + at * MINUTE, POLL_MS);
    expect(history.coveredMs(start, start + 11 * MINUTE)).toBe(3 * MINUTE);
  });

  test('forgets gaps that no window reaches', () => {
    const history = new UtilizationHistory();
    const rows = new Map([['1', row({ gpuUtilization: 0 })]]);
    const WEEK = 7 * 24 * 60 * MINUTE;
    for (const at of [0, 10 * MINUTE]) history.noteList({ rows }, at, POLL_MS);
    history.noteList({ rows }, 10 * MINUTE + 1, WEEK);
    history.noteList({ rows }, 9 * MINUTE + WEEK, WEEK);
    expect(history.coveredMs(0, WEEK)).toBe(WEEK);
  });
});

describe('a single read', () => {
  test.each([
    ['a figure below the threshold', { gpuUtilization: 0.049 }, true],
    ['a figure at the threshold', { gpuUtilization: 0.05 }, false],
    ['no figure', { gpuUtilization: undefined }, false],
    ['a machine that does not run', { state: 'stopped', gpuUtilization: 0 }, false],
  ] as const)('shows idleness or not by %s', (_, shown, isIdle) => {
    expect(isBelow(row(shown), 5)).toBe(isIdle);
  });

  test('shows no idleness of a machine that it does not find', () => {
    expect(isBelow(undefined, 5)).toBe(false);
  });
});
