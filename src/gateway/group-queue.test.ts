import { describe, expect, test } from 'vitest';
import { type Effect, GroupQueue, type QueueSettings } from './group-queue.ts';

const SETTINGS: QueueSettings = {
  holdMs: 60_000,
  maxHeld: 10,
  maxHeldPerClient: undefined,
  maxHeldBytes: Number.POSITIVE_INFINITY,
  maxQueueTimeMs: 30_000,
  expectedPerf: undefined,
};
const ready = (...names: readonly string[]) => names.map((name) => ({ name, ready: true }));
const queueWith = (settings: Partial<QueueSettings> = {}): GroupQueue =>
  new GroupQueue({ ...SETTINGS, ...settings });
const picksOf = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.type === 'pick' ? [[effect.id, ...effect.candidates]] : []));
const refusalsOf = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.type === 'refuse' ? [[effect.id, effect.refusal.code]] : []));

test('requests wait for a worker that is ready while no other can be started', () => {
  const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 0 });
  queue.setWorkers(ready('w1'), 0);
  queue.setProspect({ blocked: { reason: 'NoOffers', message: 'none' }, starts: false }, 0);
  queue.arrive({ id: 'a', work: 1 }, 1);
  expect(queue.arrive({ id: 'b', work: 1 }, 1)).toEqual([]);
  expect(picksOf(queue.end('a', { worker: 'w1', failed: false }, 2))).toEqual([['b', 'w1']]);
});

describe('a group without a ready worker', () => {
  test('holds requests, wakes once, and serves them in their order when one comes', () => {
    const queue = queueWith();
    expect(queue.arrive({ id: 'a', work: 1 }, 0)).toEqual([{ type: 'wake' }]);
    expect(queue.arrive({ id: 'b', work: 1 }, 10)).toEqual([]);
    const effects = queue.setWorkers(ready('w1'), 5_000);
    expect(effects).toEqual([
      { type: 'pick', id: 'a', candidates: ['w1'], waitMs: 5_000 },
      { type: 'pick', id: 'b', candidates: ['w1'], waitMs: 4_990 },
    ]);
    expect([queue.heldRequests(), queue.inFlightRequests()]).toEqual([0, 2]);
  });

  test('wakes again when nothing came of the first wake, and for the next burst', () => {
    const queue = queueWith();
    queue.arrive({ id: 'a', work: 1 }, 0);
    expect(queue.nextAt()).toBe(30_000);
    expect(queue.tick(29_999)).toEqual([]);
    expect(queue.tick(30_000)).toEqual([{ type: 'wake' }]);
    queue.leave('a');
    expect(queue.nextAt()).toBeUndefined();
    expect(queue.arrive({ id: 'b', work: 1 }, 30_001)).toEqual([{ type: 'wake' }]);
  });

  test('refuses a request that waited as long as it may', () => {
    const queue = queueWith({ holdMs: 20_000 });
    queue.arrive({ id: 'a', work: 1 }, 0);
    queue.arrive({ id: 'b', work: 1 }, 1);
    expect(queue.nextAt()).toBe(20_000);
    expect(refusalsOf(queue.tick(20_000))).toEqual([['a', 'hold_expired']]);
    expect(queue.heldRequests()).toBe(1);
  });

  test('refuses the request that is one too many', () => {
    const queue = queueWith({ maxHeld: 1 });
    queue.arrive({ id: 'a', work: 1 }, 0);
    expect(refusalsOf(queue.arrive({ id: 'b', work: 1 }, 0))).toEqual([['b', 'queue_full']]);
    expect(queue.heldRequests()).toBe(1);
  });

  test('holds none when maxHeld is 0', () => {
    const queue = queueWith({ maxHeld: 0 });
    expect(refusalsOf(queue.arrive({ id: 'a', work: 1 }, 0))).toEqual([['a', 'queue_full']]);
    expect(queue.nextAt()).toBeUndefined();
  });

  test('refuses all of them with the reason when no worker can be started, and wakes nothing', () => {
    const queue = queueWith();
    queue.arrive({ id: 'a', work: 1 }, 0);
    const blocked = { reason: 'AtLimit', message: 'Raise spec.maxSpendPerHour.' };
    const [effect] = queue.setProspect({ blocked, starts: false }, 10);
    expect(effect).toMatchObject({
      id: 'a',
      refusal: { code: 'workers_blocked', message: 'AtLimit: Raise spec.maxSpendPerHour.' },
    });
    expect(refusalsOf(queue.arrive({ id: 'b', work: 1 }, 20))).toEqual([['b', 'workers_blocked']]);
    queue.setProspect({ blocked: undefined, starts: false }, 30);
    expect(queue.arrive({ id: 'c', work: 1 }, 40)).toEqual([{ type: 'wake' }]);
  });
});

describe('callers', () => {
  /**
   * Returns the ids of requests in the order in which a worker accepts them, one at a time; each has the final work of
   * `done`.
   */
  function order(queue: GroupQueue, done: (id: string) => number | undefined = () => undefined): string[] {
    let picks = picksOf(queue.setWorkers(ready('w1'), 100));
    const taken: string[] = [];
    while (picks.length > 0) {
      const ids = picks.map(([id = '']) => id);
      taken.push(...ids);
      picks = ids.flatMap((id) =>
        picksOf(queue.end(id, { worker: 'w1', failed: false, work: done(id) }, 200)),
      );
    }
    return taken;
  }
  const oneAtATime = { expectedPerf: 1, maxQueueTimeMs: 0 };
  function waiting(settings: Partial<QueueSettings>, ...requests: readonly (readonly [string, number])[]) {
    const queue = queueWith({ ...oneAtATime, ...settings });
    const refused = requests.flatMap(([id, work]) =>
      refusalsOf(queue.arrive({ id, work, caller: id.charAt(0) }, 0)),
    );
    return { queue, refused };
  }

  test('take turns, and requests of one go in the order in which they came', () => {
    const { queue } = waiting({}, ['a1', 1], ['a2', 1], ['a3', 1], ['b1', 1], ['b2', 1], ['c1', 1]);
    expect(order(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  test('get the same work, whatever it is split into', () => {
    const { queue } = waiting({}, ['a1', 3], ['a2', 3], ['b1', 1], ['b2', 1], ['b3', 1], ['b4', 1]);
    expect(order(queue)).toEqual(['a1', 'b1', 'b2', 'b3', 'a2', 'b4']);
  });

  test('are charged for what a request was in the end', () => {
    const { queue } = waiting({}, ['a1', 1], ['a2', 1], ['b1', 1], ['b2', 1], ['b3', 1], ['b4', 1]);
    expect(order(queue, (id) => (id === 'a1' ? 3 : undefined))).toEqual(['a1', 'b1', 'b2', 'b3', 'a2', 'b4']);
  });

  test('save up no turns while they send nothing', () => {
    const { queue } = waiting({}, ['a1', 1], ['a2', 1], ['a3', 1], ['a4', 1], ['a5', 1]);
    queue.setWorkers(ready('w1'), 1);
    for (const id of ['a1', 'a2', 'a3']) queue.end(id, { worker: 'w1', failed: false }, 2);
    for (const id of ['b1', 'b2', 'b3']) queue.arrive({ id, work: 1, caller: 'b' }, 3);
    const taken = ['a4', 'b1', 'a5'].flatMap((id) =>
      picksOf(queue.end(id, { worker: 'w1', failed: false }, 4)),
    );
    expect(taken.map(([id]) => id)).toEqual(['b1', 'a5', 'b2']);
  });

  test('lose their newest request to others where they have the most and too many wait', () => {
    const { queue, refused } = waiting({ maxHeld: 3 }, ['a1', 1], ['a2', 1], ['a3', 1], ['b1', 1], ['b2', 1]);
    expect(refused).toEqual([
      ['a3', 'queue_full'],
      ['b2', 'queue_full'],
    ]);
    queue.leave('a1');
    queue.arrive({ id: 'c1', work: 1, caller: 'c' }, 0);
    expect(order(queue)).toEqual(['a2', 'b1', 'c1']);
  });

  test('leave from the middle of what they have waiting', () => {
    const { queue } = waiting({}, ['a1', 1], ['a2', 1], ['a3', 1], ['b1', 1]);
    expect([queue.leave('a2'), queue.leave('a2'), queue.leave('b1')]).toEqual([true, false, true]);
    expect(order(queue)).toEqual(['a1', 'a3']);
  });
});

describe('a request that may go to some workers only', () => {
  const arriving = (id: string, ...subset: readonly string[]) => ({ id, work: 1, subset });

  test('goes to the best of those that accept it, and has no others for retries', () => {
    const queue = queueWith({ expectedPerf: 1 });
    queue.setWorkers(ready('w1', 'w2', 'w3', 'w4'), 0);
    expect(picksOf(queue.arrive(arriving('a', 'w3', 'w2'), 0))).toEqual([['a', 'w2', 'w3']]);
    expect(picksOf(queue.arrive(arriving('b', 'w3', 'w2', 'w9'), 0))).toEqual([['b', 'w3', 'w2']]);
  });

  test('waits while none of them is free, keeps no other one waiting, and is served before those that came later', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 0 });
    queue.setWorkers(ready('w1', 'w2'), 0);
    expect(picksOf(queue.arrive(arriving('a', 'w1'), 0))).toEqual([['a', 'w1']]);
    expect(queue.arrive(arriving('b', 'w1'), 0)).toEqual([]);
    expect(picksOf(queue.arrive({ id: 'c', work: 1 }, 0))).toEqual([['c', 'w2']]);
    expect(queue.arrive({ id: 'd', work: 1 }, 0)).toEqual([]);
    expect(picksOf(queue.end('a', { worker: 'w1', failed: false }, 10))).toEqual([['b', 'w1']]);
    expect(picksOf(queue.end('c', { worker: 'w2', failed: false }, 10))).toEqual([['d', 'w2']]);
  });

  test('is refused once none of them is ready, wakes none, and is no work of the group', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 0 });
    expect(refusalsOf(queue.arrive(arriving('a'), 0))).toEqual([['a', 'no_endpoint_in_subset']]);
    queue.setWorkers(ready('w1', 'w2'), 0);
    for (const id of ['b', 'c']) queue.arrive(arriving(id, 'w1'), 0);
    const [refused, ...others] = queue.setWorkers(ready('w2'), 10);
    expect(refused).toMatchObject({
      type: 'refuse',
      id: 'c',
      refusal: {
        ...{ status: 503, code: 'no_endpoint_in_subset', retryAfterSeconds: 5 },
        message: 'None of the endpoints that the proxy allows is a worker of this group that takes requests.',
      },
    });
    expect(others).toEqual([]);
    const { arrivedWork, overestimatedWork, refusedWork, heldWork } = queue.report(10);
    expect([arrivedWork - overestimatedWork, refusedWork, heldWork]).toEqual([1, 0, 0]);
  });

  test('goes to the worker of its session only among those', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1', 'w2', 'w3'), 0);
    const [[, home = ''] = []] = picksOf(queue.arrive({ id: 'a', work: 1, session: 's' }, 0));
    const others = ['w1', 'w2', 'w3'].filter((name) => name !== home);
    const [[, other = ''] = []] = picksOf(queue.arrive({ ...arriving('b', ...others), session: 's' }, 0));
    expect(others).toContain(other);
    expect(picksOf(queue.arrive({ id: 'c', work: 1, session: 's' }, 0))[0]?.[1]).toBe(other);
  });
});

describe('a session', () => {
  const many = ready('w1', 'w2', 'w3', 'w4', 'w5');
  const sessions = Array.from({ length: 40 }, (_, each) => `session ${each}`);
  const first = (queue: GroupQueue, id: string, session: string): string | undefined =>
    picksOf(queue.arrive({ id, work: 1, session }, 0))[0]?.[1];
  const homes = (queue: GroupQueue, round: string) =>
    sessions.map((session) => first(queue, `${round} ${session}`, session));

  test('goes to one worker, the same by every picker, and sessions are spread', () => {
    const [one, other] = [queueWith(), queueWith()];
    one.setWorkers(many, 0);
    other.setWorkers(many.toReversed(), 0);
    const found = homes(one, 'first');
    expect(homes(one, 'again')).toEqual(found);
    expect(homes(other, 'first')).toEqual(found);
    for (const { name } of many) expect(found.filter((each) => each === name).length).toBeGreaterThan(2);
  });

  test('keeps its worker when others come, and leaves no other than one that goes', () => {
    const queue = queueWith();
    queue.setWorkers(many, 0);
    const found = homes(queue, 'first');
    queue.setWorkers([...many, ...ready('w6')], 1);
    expect(homes(queue, 'more')).toEqual(found);
    const fresh = queueWith();
    fresh.setWorkers(many.slice(1), 0);
    const left = homes(fresh, 'first');
    expect(left.filter((name, each) => name !== found[each]).length).toBe(
      found.filter((name) => name === 'w1').length,
    );
  });

  test('gets another worker, and keeps that, when its own accepts no more', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 0 });
    queue.setWorkers(many, 0);
    const own = first(queue, 'a', 'one');
    const other = first(queue, 'b', 'one');
    expect(other).not.toBe(own);
    queue.end('a', { worker: own, failed: false }, 1);
    queue.end('b', { worker: other, failed: false }, 1);
    expect(first(queue, 'c', 'one')).toBe(other);
  });

  test('waits for no worker that fails, and tries others after its own', () => {
    const queue = queueWith();
    queue.setWorkers(many, 0);
    const picked = picksOf(queue.arrive({ id: 'a', work: 1, session: 'one' }, 0))[0] ?? [];
    expect(new Set(picked).size).toBe(4);
    queue.end('a', { worker: picked[1], failed: true }, 1);
    expect(first(queue, 'b', 'one')).not.toBe(picked[1]);
  });
});

describe('the choice of a worker', () => {
  test('is the one with the least work, and two more for retries', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1', 'w2', 'w3', 'w4'), 0);
    expect(picksOf(queue.arrive({ id: 'a', work: 5 }, 0))).toEqual([['a', 'w1', 'w2', 'w3']]);
    expect(picksOf(queue.arrive({ id: 'b', work: 1 }, 0))).toEqual([['b', 'w2', 'w3', 'w4']]);
    queue.end('a', { worker: 'w1', failed: false }, 1);
    expect(picksOf(queue.arrive({ id: 'c', work: 1 }, 1))).toEqual([['c', 'w1', 'w3', 'w4']]);
  });

  test('waits while every worker has more work than it does within maxQueueTime', () => {
    const queue = queueWith({ expectedPerf: 2, maxQueueTimeMs: 1_000 });
    queue.setWorkers(ready('w1'), 0);
    expect(picksOf(queue.arrive({ id: 'a', work: 3 }, 0))).toHaveLength(1);
    expect(queue.arrive({ id: 'b', work: 1 }, 0)).toEqual([]);
    expect(picksOf(queue.end('a', { worker: 'w1', failed: false }, 1))).toEqual([['b', 'w1']]);
  });

  test('passes over a worker that finishes what it has', () => {
    const queue = queueWith();
    queue.setWorkers([{ name: 'w1', ready: false }, ...ready('w2')], 0);
    expect(picksOf(queue.arrive({ id: 'a', work: 1 }, 0))).toEqual([['a', 'w2']]);
  });

  test('comes last to one that failed, for 10 s, and takes it before nothing', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1', 'w2'), 0);
    queue.arrive({ id: 'a', work: 1 }, 0);
    queue.end('a', { worker: 'w1', failed: true }, 100);
    expect(picksOf(queue.arrive({ id: 'b', work: 1 }, 200))).toEqual([['b', 'w2', 'w1']]);
    queue.setWorkers(ready('w1'), 300);
    expect(picksOf(queue.arrive({ id: 'c', work: 1 }, 300))).toEqual([['c', 'w1']]);
    queue.setWorkers(ready('w1', 'w2'), 400);
    queue.end('c', { worker: undefined, failed: false }, 400);
    expect(picksOf(queue.arrive({ id: 'd', work: 1 }, 20_000))).toEqual([['d', 'w1', 'w2']]);
  });

  test('counts a first choice as failed that another worker had to stand in for', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1', 'w2'), 0);
    queue.arrive({ id: 'a', work: 1 }, 0);
    queue.end('a', { worker: 'w2', failed: false }, 100);
    expect(picksOf(queue.arrive({ id: 'b', work: 1 }, 200))).toEqual([['b', 'w2', 'w1']]);
  });

  test('counts each end once', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1'), 0);
    queue.arrive({ id: 'a', work: 1 }, 0);
    queue.arrive({ id: 'b', work: 1 }, 0);
    queue.end('a', { worker: 'w1', failed: false }, 1);
    expect(queue.end('a', { worker: 'w1', failed: false }, 2)).toEqual([]);
    expect(queue.inFlightRequests()).toBe(1);
  });
});

describe('the speed of workers', () => {
  /** Returns a queue with `w1`, which had done `perf` units per second for 11 s at full load. */
  function measured(perf: number, settings: Partial<QueueSettings> = {}): GroupQueue {
    const queue = queueWith({ maxQueueTimeMs: 2_000, ...settings });
    queue.setWorkers(ready('w1'), 0);
    for (let each = 0; each < 20; each += 1) queue.arrive({ id: `m${each}`, work: perf }, 0);
    for (let each = 0; each < 20; each += 1)
      queue.end(`m${each}`, { worker: 'w1', failed: false }, each * 1000);
    return queue;
  }

  test('is reported once it was measured, also while a worker has no requests', () => {
    expect(measured(3).report(20_000).workers).toEqual([{ name: 'w1', requests: 0, work: 0, perf: 3 }]);
  });

  test('is not measured by requests that were refused or broken off', () => {
    const queue = queueWith({ maxQueueTimeMs: 2_000 });
    queue.setWorkers(ready('w1'), 0);
    for (let each = 0; each < 20; each += 1) queue.arrive({ id: `m${each}`, work: 3 }, 0);
    for (let each = 0; each < 20; each += 1)
      queue.end(`m${each}`, { worker: 'w1', failed: false, isComplete: false }, each * 1000);
    expect(queue.report(20_000).workers).toEqual([]);
  });

  test('is that of the whole worker, also where most of its work is of other pickers', () => {
    const queue = queueWith({ expectedPerf: 1_000, maxQueueTimeMs: 0 });
    queue.setWorkers(ready('w1'), 0);
    for (let second = 0; second < 16; second += 1) {
      queue.setOthers({ count: 1, workers: new Map([['w1', { work: 9 }]]) }, second * 1000);
      queue.arrive({ id: `r${second}`, work: 3 }, second * 1000);
      queue.end(`r${second - 1}`, { worker: 'w1', failed: false }, second * 1000 + 500);
    }
    // A quarter of its work in two thirds of the time.
    expect(queue.report(16_000).workers[0]?.perf).toBeGreaterThan(9);
  });

  test('picks the worker that has done a request first, also where another one has less work', () => {
    const queue = measured(10, { expectedPerf: 1, maxQueueTimeMs: 60_000, maxHeld: 100 });
    queue.setWorkers(ready('w1', 'w2'), 100_000);
    queue.setWorkers(ready('w1', 'w2'), 200_000);
    expect(picksOf(queue.arrive({ id: 'a', work: 5 }, 200_000))).toEqual([['a', 'w1', 'w2']]);
    expect(picksOf(queue.arrive({ id: 'b', work: 1 }, 200_000))).toEqual([['b', 'w1', 'w2']]);
  });

  test('limits a worker in place of expectedPerf', () => {
    const queue = measured(3, { expectedPerf: 12, maxHeld: 100 });
    queue.arrive({ id: 'a', work: 7 }, 100_000);
    expect(queue.arrive({ id: 'b', work: 1 }, 100_000)).toEqual([]);
  });

  test('is that of the others for a worker that was not measured, where nothing is expected', () => {
    const queue = measured(3);
    queue.setWorkers([...ready('w2'), { name: 'w1', ready: false }], 100_000);
    queue.arrive({ id: 'a', work: 7 }, 100_000);
    expect(queue.arrive({ id: 'b', work: 1 }, 100_000)).toEqual([]);
  });

  test('is forgotten with the worker', () => {
    const queue = measured(3);
    queue.setWorkers([], 100_000);
    queue.setWorkers(ready('w1'), 100_001);
    expect(queue.report(100_001).workers).toEqual([]);
  });
});

describe('workers of different prices', () => {
  test('are taken from the cheapest where they are equal otherwise, those without a price last', () => {
    const queue = queueWith();
    const priced = [
      { name: 'w1', ready: true },
      { name: 'w2', ready: true, pricePerHour: 700_000 },
      { name: 'w3', ready: true, pricePerHour: 400_000 },
    ];
    queue.setWorkers(priced, 0);
    expect(picksOf(queue.arrive({ id: 'a', work: 1 }, 0))).toEqual([['a', 'w3', 'w2', 'w1']]);
    expect(picksOf(queue.arrive({ id: 'b', work: 1 }, 0))).toEqual([['b', 'w2', 'w1', 'w3']]);
  });
});

describe('a worker that became ready', () => {
  /** Returns how many of 22 simultaneous requests `w2` gets beside `w1`. */
  function shareOf(queue: GroupQueue, now: number): number {
    const first = Array.from({ length: 22 }, (_, each) =>
      picksOf(queue.arrive({ id: `r${each}`, work: 1 }, now)).map(([, worker]) => worker),
    );
    return first.flat().filter((name) => name === 'w2').length;
  }
  const joined = (): GroupQueue => {
    const queue = queueWith({ maxHeld: 100 });
    queue.setWorkers(ready('w1'), 0);
    queue.setWorkers(ready('w1', 'w2'), 100_000);
    return queue;
  };

  test.each([
    [0, 2],
    [3_000, 2],
    [15_000, 7],
    [30_000, 11],
    [90_000, 11],
  ])('takes its share %s ms later: %s of 22', (age, share) => {
    expect(shareOf(joined(), 100_000 + age)).toBe(share);
  });

  test('takes all of them where the others are full', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 0 });
    queue.setWorkers(ready('w1'), 0);
    queue.arrive({ id: 'a', work: 1 }, 50_000);
    queue.setWorkers(ready('w1', 'w2'), 100_000);
    expect(picksOf(queue.arrive({ id: 'b', work: 1 }, 100_000))).toEqual([['b', 'w2']]);
  });

  test('is any worker that was not ready, or failed', () => {
    const drained = joined();
    drained.setWorkers([...ready('w1'), { name: 'w2', ready: false }], 200_000);
    drained.setWorkers(ready('w1', 'w2'), 200_000);
    expect(shareOf(drained, 203_000)).toBe(2);
    const failed = joined();
    failed.setOthers({ count: 1, workers: new Map([['w1', { work: 5 }]]) }, 200_000);
    failed.arrive({ id: 'f', work: 1 }, 200_000);
    failed.end('f', { worker: 'w2', failed: true }, 200_000);
    failed.setOthers({ count: 0, workers: new Map() }, 200_000);
    expect(shareOf(failed, 213_000)).toBe(2);
  });
});

describe('a worker that fails', () => {
  test('is reported with what it did, until it serves again or for 10 s', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1'), 0);
    for (const id of ['a', 'b']) queue.arrive({ id, work: 1 }, 0);
    queue.end('a', { worker: 'w1', failed: true, failure: 'it answered 503' }, 100);
    const failing = { name: 'w1', failing: 'it answered 503' };
    expect(queue.report(10_099).workers).toMatchObject([failing]);
    expect(queue.report(10_100).workers).toEqual([{ name: 'w1', requests: 1, work: 1 }]);
    queue.end('b', { worker: 'w1', failed: false }, 200);
    expect(queue.report(201).workers).toEqual([]);
  });

  test('still fails where a client has left before it was reached', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1'), 0);
    for (const id of ['a', 'b']) queue.arrive({ id, work: 1 }, 0);
    queue.end('a', { worker: 'w1', failed: true }, 100);
    queue.end('b', { worker: undefined, failed: false }, 200);
    expect(queue.report(201).workers).toMatchObject([{ failing: 'a request to it failed' }]);
  });
});

describe('what a queue reports', () => {
  test('counts the work of requests that came, of those that left while held, and of those refused', () => {
    const queue = queueWith({ maxHeld: 2 });
    queue.arrive({ id: 'left', work: 3 }, 0);
    queue.arrive({ id: 'held', work: 5 }, 0);
    queue.arrive({ id: 'too many', work: 7 }, 0);
    queue.leave('left');
    expect(queue.report(1)).toEqual({
      ...{ arrivedWork: 15, overestimatedWork: 3, refusedWork: 7 },
      ...{ heldRequests: 1, heldWork: 5, workers: [] },
    });
  });

  test.each([
    ['that waited too long', (queue: GroupQueue) => queue.tick(60_000)],
    [
      'that no worker can be started for',
      (queue: GroupQueue) =>
        queue.setProspect({ blocked: { reason: 'NoOffers', message: 'none' }, starts: false }, 1),
    ],
  ] as const)('counts a request as refused %s', (_, refuse) => {
    const queue = queueWith();
    queue.arrive({ id: 'a', work: 2 }, 0);
    refuse(queue);
    expect(queue.report(1)).toMatchObject({
      arrivedWork: 2,
      overestimatedWork: 0,
      refusedWork: 2,
      heldWork: 0,
    });
  });

  test.each([
    ['less', 3, 10, 7],
    ['more', 14, 14, 0],
    ['as much', 10, 10, 0],
    ['nothing', 0, 10, 10],
  ])(
    'corrects the estimate of a request that was %s in the end',
    (_, work, arrivedWork, overestimatedWork) => {
      const queue = queueWith();
      queue.setWorkers(ready('w1'), 0);
      queue.arrive({ id: 'a', work: 10 }, 0);
      queue.end('a', { worker: 'w1', failed: false, work }, 1);
      expect(queue.report(1)).toMatchObject({ arrivedWork, overestimatedWork, workers: [] });
    },
  );

  test('names what each worker has, until it has ended', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1', 'w2'), 0);
    for (const [id, work] of Object.entries({ a: 4, b: 1, c: 1 })) queue.arrive({ id, work }, 0);
    expect(queue.report(1).workers).toEqual([
      { name: 'w1', requests: 1, work: 4 },
      { name: 'w2', requests: 2, work: 2 },
    ]);
    queue.end('a', { worker: 'w1', failed: false }, 1);
    expect(queue.report(1)).toMatchObject({ arrivedWork: 6, workers: [{ name: 'w2', requests: 2 }] });
  });
});

describe('workers that other pickers use as well', () => {
  test('are chosen by the work that they have from all of them', () => {
    const queue = queueWith();
    queue.setWorkers(ready('w1', 'w2'), 0);
    queue.setOthers({ count: 1, workers: new Map([['w1', { work: 10 }]]) }, 0);
    expect(picksOf(queue.arrive({ id: 'a', work: 1 }, 1))).toEqual([['a', 'w2', 'w1']]);
  });

  test('are left a part for each of the others, until it is known what they take', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 7_000, maxHeld: 100 });
    queue.setWorkers(ready('w1'), 0);
    queue.setOthers({ count: 1, workers: new Map() }, 0);
    for (let each = 0; each < 20; each += 1) queue.arrive({ id: `r${each}`, work: 1 }, 1);
    expect(queue.inFlightRequests()).toBe(4);
    queue.setOthers({ count: 1, workers: new Map() }, 1_000);
    expect(queue.inFlightRequests()).toBe(6);
    queue.setOthers({ count: 0, workers: new Map() }, 2_000);
    expect(queue.inFlightRequests()).toBe(8);
  });

  test('let a picker have its part, a request at a time, also where others fill them', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 6_000 });
    queue.setWorkers(ready('w1'), 0);
    const others = { count: 2, workers: new Map([['w1', { work: 7 }]]) };
    const inFlight = [0, 1, 2, 3, 4].map((second) => {
      queue.setOthers(others, second * 1000);
      for (const part of ['a', 'b']) queue.arrive({ id: `${part}${second}`, work: 1 }, second * 1000);
      return queue.inFlightRequests();
    });
    expect(inFlight).toEqual([1, 2, 3, 3, 3]);
  });

  test('are as fast as the picker says that has measured the most', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 1_000 });
    queue.setWorkers(ready('w1'), 0);
    queue.setOthers({ count: 0, workers: new Map([['w1', { work: 0, perf: 4 }]]) }, 0);
    for (let each = 0; each < 9; each += 1) queue.arrive({ id: `r${each}`, work: 1 }, 1);
    expect(queue.inFlightRequests()).toBe(5);
  });

  test('accept nothing while all of it takes longer than maxQueueTime, and again when it is less', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 5_000 });
    queue.setWorkers(ready('w1'), 0);
    queue.arrive({ id: 'own', work: 3 }, 0);
    queue.setOthers({ count: 1, workers: new Map([['w1', { work: 6 }]]) }, 0);
    expect(queue.arrive({ id: 'a', work: 1 }, 1)).toEqual([]);
    expect(picksOf(queue.setOthers({ count: 1, workers: new Map() }, 2))).toEqual([['a', 'w1']]);
  });
});

describe('A6: a request whose body is read', () => {
  test('takes a place from its headers on, and gets a worker once it is counted', () => {
    const queue = queueWith({ maxHeld: 2 });
    queue.setWorkers(ready('w1'), 0);
    queue.arrive({ id: 'a' }, 0);
    queue.arrive({ id: 'b' }, 0);
    expect(refusalsOf(queue.arrive({ id: 'c' }, 0))).toEqual([['c', 'queue_full']]);
    expect([queue.heldRequests(), queue.report(0).heldRequests]).toEqual([2, 0]);
    expect(picksOf(queue.count('a', 7, 1))).toEqual([['a', 'w1']]);
    expect(queue.count('c', 7, 1)).toEqual([]);
    expect(queue.report(1)).toMatchObject({ arrivedWork: 7, workers: [{ requests: 1, work: 7 }] });
  });

  test('wakes nothing before it is counted', () => {
    const queue = queueWith();
    expect(queue.arrive({ id: 'a' }, 0)).toEqual([]);
    expect(queue.tick(29_999)).toEqual([]);
    expect(queue.count('a', 1, 29_999)).toEqual([{ type: 'wake' }]);
  });

  test('is refused 30 s after its headers, although others wait longer', () => {
    const queue = queueWith();
    queue.arrive({ id: 'a', work: 1 }, 0);
    queue.arrive({ id: 'b' }, 5);
    expect(queue.nextAt()).toBe(30_000);
    queue.tick(30_000);
    const [refused] = queue.tick(30_005);
    expect(refused).toMatchObject({ id: 'b', refusal: { status: 408, code: 'body_timeout' } });
    expect(queue.heldRequests()).toBe(1);
  });

  test('leaves with its client, and keeps no other one waiting', () => {
    const queue = queueWith();
    queue.arrive({ id: 'a', caller: 'slow' }, 0);
    queue.arrive({ id: 'b', work: 1, caller: 'slow' }, 0);
    expect(picksOf(queue.setWorkers(ready('w1'), 1))).toEqual([['b', 'w1']]);
    expect([queue.leave('a'), queue.leave('a'), queue.heldRequests()]).toEqual([true, false, 0]);
  });
});

describe('A5: memory of requests that wait', () => {
  test('is limited, and the client that takes most gives way', () => {
    const queue = queueWith({ maxHeldBytes: 100 });
    queue.arrive({ id: 'a', work: 1, bytes: 10, caller: 'modest' }, 0);
    queue.arrive({ id: 'b', work: 1, bytes: 10, caller: 'modest' }, 0);
    queue.arrive({ id: 'c', work: 1, bytes: 70, caller: 'greedy' }, 0);
    expect(refusalsOf(queue.arrive({ id: 'd', work: 1, bytes: 20, caller: 'modest' }, 0))).toEqual([
      ['c', 'queue_full'],
    ]);
    expect(queue.heldBytes()).toBe(40);
  });

  test('is limited for one client by the number of its requests', () => {
    const queue = queueWith({ maxHeldPerClient: 1 });
    queue.arrive({ id: 'a', work: 1, caller: 'one' }, 0);
    queue.arrive({ id: 'b', work: 1, caller: 'other' }, 0);
    expect(refusalsOf(queue.arrive({ id: 'c', work: 1, caller: 'one' }, 0))).toEqual([['c', 'queue_full']]);
  });
});

describe('B10: a request that asks for no work', () => {
  test('is refused at once without a worker, and wakes none', () => {
    const effects = queueWith().arriveQuietly({ id: 'a' }, 0);
    expect(refusalsOf(effects)).toEqual([['a', 'no_worker_ready']]);
  });

  test('goes to a ready worker, counts in its limit, and is no load', () => {
    const queue = queueWith({ expectedPerf: 1, maxQueueTimeMs: 0 });
    queue.setWorkers(ready('w1'), 0);
    expect(picksOf(queue.arriveQuietly({ id: 'a' }, 0))).toEqual([['a', 'w1']]);
    expect(queue.report(0)).toMatchObject({ arrivedWork: 0, workers: [] });
    expect(refusalsOf(queue.arriveQuietly({ id: 'b' }, 0))).toEqual([['b', 'no_worker_ready']]);
    queue.end('a', { worker: 'w1', failed: false }, 1);
    expect(queue.report(1)).toMatchObject({ arrivedWork: 0, overestimatedWork: 0, refusedWork: 0 });
    expect(queue.inFlightRequests()).toBe(0);
  });
});
