import { expect, test, vi } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import {
  type ControllerOptions,
  createController,
  done,
  type Reconcile,
  requeueAfter,
  WorkerPool,
} from './controller.ts';
import { KubeError } from './kube/kube-error.ts';
import { silentMetrics } from './metrics-ports.ts';

function setUp(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const clock = createVirtualClock();
  const outcomes: string[] = [];
  const metrics = {
    ...silentMetrics,
    reconciled: (_name: string, outcome: string) => outcomes.push(outcome),
    timedOut: () => outcomes.push('timed_out'),
  };
  const passes: { key: string; at: number }[] = [];
  const controller = createController({
    name: 'test',
    clock,
    random: seededRandom(1),
    log: silentLogger,
    metrics,
    reconcile: (key, context) => {
      passes.push({ key, at: clock.monotonic() });
      return reconcile(key, context);
    },
    ...options,
  });
  controller.start();
  return { clock, controller, outcomes, passes };
}

test('a pass that is done is not repeated', async () => {
  const { clock, controller, outcomes, passes } = setUp(async () => done);
  controller.queue.add('a/b');
  await clock.advance(3_600_000);
  expect(passes).toHaveLength(1);
  expect(outcomes).toEqual(['success']);
});

test('a pass that waits aside keeps its key, and keeps no other waiting', async () => {
  let open = () => {};
  const outside = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { clock, controller, outcomes, passes } = setUp(async (key, { aside }) => {
    if (key === 'waits') await aside(() => outside);
    return done;
  });
  controller.queue.add('waits');
  controller.queue.add('other');
  controller.queue.add('waits');
  await clock.advance(1_000);
  expect(passes.map(({ key }) => key)).toEqual(['waits', 'other']);
  controller.queue.add('waits');
  await clock.advance(1_000);
  expect(passes).toHaveLength(2);
  open();
  await clock.advance(1_000);
  expect(passes.map(({ key }) => key)).toEqual(['waits', 'other', 'waits']);
  expect(outcomes).toEqual(['success', 'success', 'success']);
});

test('F12: what waits aside and fails since the process stops is no error, unlike what fails before', async () => {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const log: Logger = { ...silentLogger, debug: at('debug'), error: at('error'), child: () => log };
  let close = (_: Error) => {};
  const outside = new Promise<void>((_, reject) => {
    close = reject;
  });
  const { clock, controller } = setUp(
    async (key, { aside }) => {
      if (key === 'waits') await aside(() => outside);
      throw new Error('wrong');
    },
    { log },
  );
  controller.queue.add('waits');
  controller.queue.add('fails');
  await clock.advance(1);
  expect(lines).toEqual(['error Reconcile failed']);
  const stopped = controller.stop(1_000);
  close(new Error('The client is destroyed'));
  await clock.advance(2_000);
  await stopped;
  expect(lines.slice(1)).toEqual(['debug Reconcile was ended by the stop']);
});

test('a pass that asks for a time is repeated then', async () => {
  const { clock, controller, outcomes, passes } = setUp(async () => requeueAfter(60_000));
  controller.queue.add('a');
  await clock.advance(120_000);
  expect(passes.map((pass) => pass.at)).toEqual([0, 60_000, 120_000]);
  expect(outcomes.at(-1)).toBe('requeue_after');
});

test('a pass that throws is repeated with backoff, and starts afresh after one that does not', async () => {
  let failing = true;
  const retries: number[] = [];
  const { clock, controller, outcomes, passes } = setUp(async (_key, context) => {
    retries.push(context.retries);
    if (failing) throw new Error('no');
    return done;
  });
  controller.queue.add('a');
  await clock.advance(100);
  expect(passes.length).toBeGreaterThan(3);
  expect(retries.slice(0, 4)).toEqual([0, 1, 2, 3]);
  failing = false;
  await clock.advance(1000);
  expect(outcomes.at(-1)).toBe('success');
  expect(controller.queue.retries('a')).toBe(0);
});

test('an error that names a time is not repeated earlier', async () => {
  const throttled = new KubeError('slow down', {
    kind: 'throttled',
    status: 429,
    reason: 'TooManyRequests',
    outcome: 'refused',
    retryAfterMs: 9000,
  });
  const { clock, controller, passes } = setUp(() => Promise.reject(throttled));
  controller.queue.add('a');
  await clock.advance(8999);
  expect(passes).toHaveLength(1);
  await clock.advance(1);
  expect(passes).toHaveLength(2);
});

test('as many keys are worked on at a time as there are workers, and never one key twice', async () => {
  const running = new Map<string, number>();
  let most = 0;
  const ends: (() => void)[] = [];
  const { clock, controller } = setUp(
    (key) => {
      running.set(key, (running.get(key) ?? 0) + 1);
      expect(running.get(key)).toBe(1);
      most = Math.max(most, running.size);
      return new Promise((resolve) =>
        ends.push(() => {
          running.delete(key);
          resolve(done);
        }),
      );
    },
    { workers: 3 },
  );
  for (const key of ['a', 'b', 'c', 'd', 'a', 'e']) controller.queue.add(key);
  await clock.settle();
  for (const key of ['a', 'b', 'c']) controller.queue.add(key);
  while (ends.length > 0) {
    ends.shift()?.();
    await clock.settle();
  }
  expect(most).toBe(3);
});

test('one failing key does not hold up the others', async () => {
  const { clock, controller, passes } = setUp((key) =>
    key === 'bad' ? Promise.reject(new Error('bad')) : Promise.resolve(done),
  );
  controller.queue.add('bad');
  await clock.advance(50);
  controller.queue.add('good');
  await clock.settle();
  expect(passes.at(-1)).toEqual({ key: 'good', at: 50 });
});

test('aborts the signal of a pass that outlives its limit', async () => {
  const { clock, controller, outcomes } = setUp(
    (_key, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    { timeoutMs: 5000 },
  );
  controller.queue.add('a');
  await clock.advance(5000);
  expect(outcomes).toEqual(['timed_out', 'error']);
});

test('stop lets the pass under way end, and starts no other', async () => {
  let end = () => {};
  const { clock, controller, passes } = setUp(
    () =>
      new Promise((resolve) => {
        end = () => resolve(requeueAfter(1));
      }),
  );
  controller.queue.add('a');
  controller.queue.add('b');
  await clock.settle();
  let stopped = false;
  void controller.stop(30_000).then(() => {
    stopped = true;
  });
  await clock.advance(29_000);
  expect(stopped).toBe(false);
  end();
  await clock.settle();
  expect(stopped).toBe(true);
  await clock.advance(3_600_000);
  expect(passes.map((pass) => pass.key)).toEqual(['a']);
});

test('stop leaves a pass that does not end, after telling it', async () => {
  let told = false;
  const { clock, controller } = setUp((_key, { signal }) => {
    signal.addEventListener('abort', () => {
      told = true;
    });
    return new Promise(() => {});
  });
  controller.queue.add('a');
  await clock.settle();
  let stopped = false;
  void controller.stop(30_000).then(() => {
    stopped = true;
  });
  await clock.advance(30_000);
  expect({ stopped, told }).toEqual({ stopped: true, told: true });
});

test('passes that wait for nothing let the rest of the process have its turn', async () => {
  const order: string[] = [];
  const virtual = createVirtualClock();
  let workedMs = 0;
  const clock = { ...virtual, monotonic: () => virtual.monotonic() + workedMs };
  const reconcile: Reconcile = async (key) => {
    order.push(key);
    if (key === 'a') clock.setTimer(0, () => order.push('a timer'));
    workedMs += 20;
    return done;
  };
  const { controller } = setUp(reconcile, { clock });
  for (const key of ['a', 'b', 'c']) controller.queue.add(key);
  await virtual.advance(1_000);
  expect(order).toEqual(['a', 'a timer', 'b', 'c']);
});

test('a pass that has ended listens to nothing any more', async () => {
  const added = vi.spyOn(EventTarget.prototype, 'addEventListener');
  const removed = vi.spyOn(EventTarget.prototype, 'removeEventListener');
  const { clock, controller, passes } = setUp(async () => done, { timeoutMs: 60_000 });
  for (const key of ['a', 'b']) controller.queue.add(key);
  await clock.advance(1);
  expect(passes).toHaveLength(2);
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
    added.mock.calls.map(([, listener]) => listener),
  );
  expect(clock.nextTimerMs()).toBeUndefined();
  vi.restoreAllMocks();
});

test('a controller that has stopped leaves no timer behind', async () => {
  const { clock, controller } = setUp(async () => done);
  controller.queue.add('a/b');
  await clock.settle();
  await controller.stop();
  await clock.settle();
  expect(clock.nextTimerMs()).toBeUndefined();
});

test('the failures before a pass that asks for a time count no more', async () => {
  const retries: number[] = [];
  let isWell = false;
  const { clock, controller } = setUp((_key, context) => {
    retries.push(context.retries);
    return isWell ? Promise.resolve(requeueAfter(1_000)) : Promise.reject(new Error('away'));
  });
  controller.queue.add('a/b');
  await clock.advance(1_000);
  isWell = true;
  await clock.advance(10_000);
  controller.queue.add('a/b');
  await clock.settle();
  expect(Math.max(...retries)).toBeGreaterThan(3);
  expect(retries.at(-1)).toBe(0);
  await controller.stop();
});

/** Returns a pool whose work the test continues step by step. */
function setUpPool(size: number) {
  const keys: string[] = [];
  const takers: ((key: string | undefined) => void)[] = [];
  const log: string[] = [];
  const gates = new Map<string, () => void>();
  const busy: number[] = [];
  const errors: unknown[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const gate = (name: string) => new Promise<void>((resolve) => gates.set(name, resolve));
  const pool = new WorkerPool({
    size,
    take: () => {
      const key = keys.shift();
      return key === undefined ? new Promise((resolve) => takers.push(resolve)) : Promise.resolve(key);
    },
    pass: async (key) => {
      log.push(`${key} begins`);
      if (key.startsWith('waits')) await pool.aside(() => gate(`${key} outside`));
      log.push(`${key} works`);
      if (key.startsWith('breaks')) throw new Error(key);
      await gate(key);
      log.push(`${key} ends`);
    },
    onBusy: (count) => busy.push(count),
    onError: (error) => errors.push(error),
  });
  pool.start();
  return {
    pool,
    log,
    busy,
    errors,
    async add(...more: string[]) {
      for (const key of more) {
        const taker = takers.shift();
        if (taker) taker(key);
        else keys.push(key);
      }
      await settle();
    },
    async open(name: string) {
      gates.get(name)?.();
      await settle();
    },
    /** Reports that there are no more keys. */
    async end() {
      for (const taker of takers.splice(0)) taker(undefined);
      await settle();
    },
  };
}

test('a pool works on as many keys as it has places, and takes the next when one ends', async () => {
  const { add, open, log, busy } = setUpPool(2);
  await add('a', 'b', 'c');
  expect(log).toEqual(['a begins', 'a works', 'b begins', 'b works']);
  await open('a');
  expect(log.slice(4)).toEqual(['a ends', 'c begins', 'c works']);
  expect(Math.max(...busy)).toBe(2);
});

test('however many passes stand aside, the others are worked on', async () => {
  const { add, log } = setUpPool(2);
  const waiting = Array.from({ length: 100 }, (_, index) => `waits ${index}`);
  await add(...waiting, 'other');
  expect(log).toContain('other works');
  expect(log.filter((line) => line.endsWith('begins'))).toHaveLength(101);
});

test('who comes back waits for a place, and has it before the next key', async () => {
  const { add, open, log, busy } = setUpPool(1);
  await add('waits', 'a', 'b');
  await open('waits outside');
  expect(log).toEqual(['waits begins', 'a begins', 'a works']);
  await open('a');
  expect(log.slice(3)).toEqual(['a ends', 'waits works']);
  await open('waits');
  expect(log.slice(5)).toEqual(['waits ends', 'b begins', 'b works']);
  expect(Math.max(...busy)).toBe(1);
});

test('who comes back while there is a place goes on at once, and the pool is as large afterwards', async () => {
  const { add, open, log } = setUpPool(2);
  await add('waits', 'a');
  await open('waits outside');
  expect(log.at(-1)).toBe('waits works');
  await open('waits');
  await open('a');
  await add('b', 'c', 'd');
  expect(log.filter((line) => /^[bcd] works/.test(line))).toEqual(['b works', 'c works']);
});

test('a key that comes when those who came back have all places waits for one', async () => {
  const { add, open, log, busy } = setUpPool(1);
  await add('waits');
  await open('waits outside');
  await add('a');
  expect(log).toEqual(['waits begins', 'waits works']);
  await open('waits');
  expect(log.slice(2)).toEqual(['waits ends', 'a begins', 'a works']);
  expect(Math.max(...busy)).toBe(1);
});

test('what fails aside fails its pass, which has its place again', async () => {
  const { pool, busy } = setUpPool(1);
  const told = new Error('told to fail');
  await expect(pool.aside(() => Promise.reject(told))).rejects.toBe(told);
  expect(busy).toEqual([-1, 0]);
});

test('after the last key those who stand aside still come to their end', async () => {
  const { add, open, end, log } = setUpPool(1);
  await add('waits', 'waits too');
  await end();
  await open('waits outside');
  await open('waits too outside');
  expect(log.at(-1)).toBe('waits works');
  await open('waits');
  await open('waits too');
  expect(log.slice(-3)).toEqual(['waits ends', 'waits too works', 'waits too ends']);
});

test('goes on with other keys when a pass rejects after all (C1)', async () => {
  const { add, log, busy, errors } = setUpPool(1);
  await add('breaks', 'next');
  expect(log).toEqual(['breaks begins', 'breaks works', 'next begins', 'next works']);
  expect(busy.at(-1)).toBe(1);
  expect(errors).toEqual([new Error('breaks')]);
});
