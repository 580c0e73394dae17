import { expect, test, vi } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import {
  type ControllerOptions,
  createController,
  done,
  type Reconcile,
  requeueAfter,
  TerminalError,
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

test('a pass that stands aside keeps its key, and keeps no other waiting', async () => {
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

test('a terminal error is not repeated', async () => {
  const { clock, controller, outcomes, passes } = setUp(() => Promise.reject(new TerminalError('never')));
  controller.queue.add('a');
  await clock.advance(3_600_000);
  expect(passes).toHaveLength(1);
  expect(outcomes).toEqual(['terminal_error']);
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

test('a pass that outlives its limit is told to end', async () => {
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

test.each([
  ['asks for a time', async () => requeueAfter(1_000)],
  ['meets what no retry mends', () => Promise.reject(new TerminalError('never'))],
] as const)('the failures before a pass that %s count no more', async (_, end) => {
  const retries: number[] = [];
  let isWell = false;
  const { clock, controller } = setUp((_key, context) => {
    retries.push(context.retries);
    return isWell ? end() : Promise.reject(new Error('away'));
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
