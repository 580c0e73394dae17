import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import { sleep } from '../lib/clock.ts';
import {
  CLASS_ORDER,
  createPacer,
  DOCUMENTED_GAPS_MS,
  DOCUMENTED_WINDOWS,
  type EndpointClass,
  type Pacer,
  type PacerOptions,
} from './pacing.ts';

interface Started {
  readonly endpointClass: EndpointClass;
  readonly at: number;
  readonly name: string;
}

function setUp(options: Partial<PacerOptions> = {}) {
  const clock = createVirtualClock();
  const pacer = createPacer({ clock, ...options });
  const started: Started[] = [];
  const call = (endpointClass: EndpointClass, { name = endpointClass as string, busyMs = 0 } = {}) =>
    pacer.acquire(endpointClass, { maxWaitMs: 10_000_000 }).then((permit) => {
      started.push({ endpointClass, at: clock.monotonic(), name });
      clock.setTimer(busyMs, () => permit.release());
    });
  return { clock, pacer, started, call };
}

async function run(clock: VirtualClock, ms: number): Promise<void> {
  await clock.advance(ms);
  await clock.settle();
}

describe('a pacer', () => {
  test('starts the first call of a class at once and spaces the next by the documented gap', async () => {
    const { clock, started, call } = setUp();
    for (const name of ['first', 'second', 'third']) void call('rent', { name });
    await run(clock, 20_000);
    expect(started.map(({ name }) => name)).toEqual(['first', 'second', 'third']);
    expect(started[0]?.at).toBe(0);
    expect((started[1]?.at ?? 0) - (started[0]?.at ?? 0)).toBeGreaterThanOrEqual(4_500);
  });

  test.for<readonly [EndpointClass, number]>([
    ['destroy', 3_000],
    ['rent', 4_500],
    ['change', 1_000],
    ['get', 2_000],
    ['list', 1_000],
    ['groupCreate', 4_000],
    ['volume', 5_500],
  ])(
    'lets the gap that the public service asks for pass between two calls: %s, %i ms',
    async ([name, gapMs]) => {
      const { clock, started, call } = setUp();
      void call(name);
      void call(name);
      await run(clock, gapMs - 1);
      expect(started).toHaveLength(1);
      await run(clock, 1_000);
      expect(started).toHaveLength(2);
    },
  );

  test.for<readonly [EndpointClass, number]>([
    ['destroy', 3_000],
    ['search', 6_000],
  ])('counts the gap of a call that is checked first from when it leaves: %s', async ([name, gapMs]) => {
    const { clock, pacer, started, call } = setUp({ gapsMs: { search: 6_000 } });
    const permit = await pacer.acquire(name);
    const checked = permit.checkBefore(() => new Promise<void>((resolve) => clock.setTimer(5_000, resolve)));
    void call(name);
    void call('list');
    await run(clock, 4_999);
    expect(pacer.reserve(name, 1_000)).toBeUndefined();
    expect(started.map(({ endpointClass }) => endpointClass)).toEqual(['list']);
    await run(clock, 1);
    await checked;
    await run(clock, gapMs - 1);
    expect(started).toHaveLength(1);
    await run(clock, 1_000);
    expect(started).toHaveLength(2);
  });

  test('keeps a pause that the service asks for while a call is checked', async () => {
    const { pacer } = setUp();
    const permit = await pacer.acquire('destroy');
    await permit.checkBefore(() => pacer.slowDown('destroy', 60_000));
    expect(pacer.nextSlotMs('destroy')).toBeGreaterThan(59_000);
  });

  test('starts the next call in its time after a check that fails', async () => {
    const { clock, pacer, started, call } = setUp();
    const permit = await pacer.acquire('destroy');
    void call('destroy');
    const unanswered = new Error('no answer');
    await expect(permit.checkBefore(() => Promise.reject(unanswered))).rejects.toBe(unanswered);
    permit.release();
    await run(clock, 4_000);
    expect(started).toHaveLength(1);
  });

  test('counts a call of a window once, also if it leaves later than it came', async () => {
    const { clock, pacer, started, call } = setUp();
    for (let index = 0; index < 4; index += 1) {
      const permit = await pacer.acquire('search');
      await permit.checkBefore(() => true);
      permit.release();
    }
    void call('search');
    await run(clock, 0);
    expect(started).toHaveLength(1);
  });

  test('lets calls be checked side by side where nothing is paced', async () => {
    const { pacer } = setUp({ scale: 0 });
    const permit = await pacer.acquire('destroy');
    const other = permit.checkBefore(() => pacer.acquire('destroy'));
    (await other).release();
    permit.release();
  });

  test('lets five searches follow each other, then spreads the rest of ten over the minute (H8)', async () => {
    const { clock, started, call } = setUp();
    for (let index = 0; index < 15; index += 1) void call('search');
    await run(clock, 60_000);
    const at = started.map((each) => Math.round(each.at / 1_000));
    expect(at).toEqual([0, 0, 0, 0, 0, 12, 24, 37, 49]);
    await run(clock, 60_000);
    const gaps = started.slice(1).map((each, index) => each.at - (started[index]?.at ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(12_500);
  });

  test('counts only the searches of the last minute: a burst is free again after a pause', async () => {
    const { clock, started, call } = setUp();
    for (let index = 0; index < 10; index += 1) void call('search');
    await run(clock, 180_000);
    started.length = 0;
    for (let index = 0; index < 7; index += 1) void call('search');
    await run(clock, 60_000);
    expect(started.map((each) => Math.round(each.at / 1_000) - 180)).toEqual([0, 0, 0, 0, 0, 12, 24]);
  });

  test('slows searches after a 429, though their window has room', async () => {
    const { clock, pacer, started, call } = setUp();
    pacer.slowDown('search');
    for (let index = 0; index < 3; index += 1) void call('search');
    await run(clock, 11_000);
    expect(started).toHaveLength(0);
    await run(clock, 10_000);
    expect(started).toHaveLength(1);
  });

  test('does not let one class wait for another', async () => {
    const { clock, started, call } = setUp();
    void call('search');
    void call('list');
    void call('destroy');
    await run(clock, 0);
    expect(started).toHaveLength(3);
  });

  test('lets a destroy overtake everything that waits for a place in flight', async () => {
    const { clock, started, call } = setUp({ maxInFlight: 1 });
    void call('other', { busyMs: 100 });
    void call('volume');
    void call('get');
    void call('search');
    void call('rent');
    void call('destroy');
    await run(clock, 200);
    expect(started.map(({ endpointClass }) => endpointClass)).toEqual([
      'other',
      'destroy',
      'rent',
      'search',
      'get',
      'volume',
    ]);
  });

  test('lets one list at a time go beside as many calls as may be in flight', async () => {
    const { clock, started, call } = setUp({ maxInFlight: 1, scale: 0 });
    const classes = () => started.map(({ endpointClass }) => endpointClass);
    void call('destroy', { busyMs: 1_000 });
    void call('destroy');
    void call('list', { busyMs: 100 });
    void call('list', { busyMs: 100 });
    await run(clock, 50);
    expect(classes()).toEqual(['destroy', 'list']);
    await run(clock, 100);
    expect(classes()).toEqual(['destroy', 'list', 'list']);
    await run(clock, 1_000);
    expect(classes()).toEqual(['destroy', 'list', 'list', 'destroy']);
  });

  test('spaces nothing where the scale is 0', async () => {
    const { clock, started, call } = setUp({ scale: 0, maxInFlight: 100 });
    for (let index = 0; index < 50; index += 1) void call('rent');
    await run(clock, 0);
    expect(started).toHaveLength(50);
  });

  test('waits as long as a Retry-After says, then goes slower, then recovers', async () => {
    const { clock, pacer, call, started } = setUp();
    void call('list');
    await run(clock, 0);
    pacer.slowDown('list', 7_000);
    for (let index = 0; index < 3; index += 1) void call('list');
    await run(clock, 30_000);
    const gaps = started.slice(1).map(({ at }, index) => at - (started[index]?.at ?? 0));
    expect(gaps[0]).toBeGreaterThanOrEqual(7_000);
    expect(gaps[1]).toBeGreaterThan(1_500);
    await run(clock, 600_000);
    started.length = 0;
    void call('list');
    void call('list');
    await run(clock, 5_000);
    expect((started[1]?.at ?? 0) - (started[0]?.at ?? 0)).toBeLessThan(1_100);
  });

  test('slows a class without a documented gap after a 429 without Retry-After', async () => {
    const { clock, pacer, call, started } = setUp();
    pacer.slowDown('account');
    void call('account');
    await run(clock, 100);
    expect(started).toHaveLength(0);
    await run(clock, 1_000);
    expect(started).toHaveLength(1);
  });

  test('refuses a call whose place does not come in time, as certainly not sent', async () => {
    const { clock, pacer } = setUp();
    await pacer.acquire('rent');
    const late = pacer.acquire('rent', { maxWaitMs: 1_000 }).catch((error: unknown) => error);
    await run(clock, 1_000);
    expect(await late).toMatchObject({ kind: 'throttled', outcome: 'refused' });
    expect(pacer.nextSlotMs('rent')).toBeGreaterThan(3_000);
  });

  test('forgets a call whose caller gave up', async () => {
    const { clock, pacer, call, started } = setUp();
    await pacer.acquire('rent');
    const giveUp = new AbortController();
    const abandoned = pacer.acquire('rent', { signal: giveUp.signal }).catch((error: unknown) => error);
    void call('rent', { name: 'patient' });
    giveUp.abort(new Error('no longer wanted'));
    await run(clock, 5_000);
    expect(await abandoned).toMatchObject({ message: 'no longer wanted' });
    expect(started.map(({ name }) => name)).toEqual(['patient']);
  });

  test('keeps a reserved slot for its call and gives it to no other', async () => {
    const { clock, pacer, call, started } = setUp();
    const slot = pacer.reserve('rent', 5_000);
    expect(pacer.reserve('rent', 5_000)).toBeUndefined();
    void call('rent', { name: 'other' });
    await run(clock, 4_000);
    expect(started).toHaveLength(0);
    await pacer.acquire('rent', { slot });
    await run(clock, 4_500);
    expect(started).toHaveLength(0);
    await run(clock, 200);
    expect(started).toHaveLength(1);
  });

  test('frees a reserved place that is released or expires', async () => {
    const { clock, pacer } = setUp();
    pacer.reserve('rent', 5_000)?.release();
    expect(pacer.nextSlotMs('rent')).toBe(0);
    expect(pacer.reserve('rent', 5_000)).toBeDefined();
    await run(clock, 5_000);
    expect(pacer.reserve('rent', 5_000)).toBeDefined();
  });

  test('starts nothing for a caller that has gone already', async () => {
    const { pacer } = setUp();
    const reason = new Error('gone');
    await expect(pacer.acquire('rent', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(pacer.nextSlotMs('rent')).toBe(0);
  });

  test('keeps no place while as many calls are in flight as may be, nor when it is stopped', async () => {
    const { pacer } = setUp({ maxInFlight: 1 });
    const permit = await pacer.acquire('other');
    expect(pacer.reserve('rent', 1_000)).toBeUndefined();
    permit.release();
    expect(pacer.reserve('rent', 1_000)).toBeDefined();
    pacer.stop();
    expect(pacer.reserve('search', 1_000)).toBeUndefined();
  });

  test('uses the slot of a late call at most once', async () => {
    const { clock, pacer, started, call } = setUp();
    const late = pacer.reserve('rent', 1_000);
    await clock.advance(1_000);
    void call('rent', { name: 'in time' });
    await run(clock, 0);
    void pacer.acquire('rent', { slot: late }).then(() => {
      started.push({ endpointClass: 'rent', at: clock.monotonic(), name: 'late' });
    });
    await run(clock, 100);
    expect(started.map(({ name }) => name)).toEqual(['in time']);
    await run(clock, 10_000);
    expect((started[1]?.at ?? 0) - (started[0]?.at ?? 0)).toBeGreaterThanOrEqual(4_500);
  });

  test.each(['the same place again', 'a place of another limiter'])(
    'starts no second call by %s',
    async (what) => {
      const { clock, pacer } = setUp();
      const slot = pacer.reserve('rent', 5_000);
      const other = what === 'the same place again' ? slot : setUp().pacer.reserve('rent', 5_000);
      if (other === slot) (await pacer.acquire('rent', { slot })).release();
      let started = false;
      void pacer.acquire('rent', { slot: other }).then(() => {
        started = true;
      });
      await run(clock, 4_000);
      expect(started).toBe(false);
      await run(clock, 6_000);
      expect(started).toBe(true);
    },
  );

  test('gives a place that is given back to who waits, at once, and never that of another', async () => {
    const { clock, pacer, started, call } = setUp();
    const expired = pacer.reserve('rent', 1_000);
    await clock.advance(1_000);
    const held = pacer.reserve('rent', 60_000);
    void call('rent');
    expired?.release();
    await run(clock, 0);
    expect(started).toEqual([]);
    held?.release();
    await run(clock, 0);
    expect(started).toHaveLength(1);
  });

  test('counts a call that ends twice once', async () => {
    const { clock, pacer, started, call } = setUp({ maxInFlight: 1, scale: 0 });
    const permit = await pacer.acquire('other');
    permit.release();
    permit.release();
    void call('list', { busyMs: 1_000 });
    void call('get', { busyMs: 1_000 });
    await run(clock, 500);
    expect(started).toHaveLength(1);
  });

  test('names the time that those who wait already will take', async () => {
    const { pacer, call } = setUp();
    void call('rent');
    const alone = pacer.nextSlotMs('rent');
    void call('rent');
    void call('rent');
    expect(pacer.nextSlotMs('rent')).toBeGreaterThanOrEqual(2 * alone);
  });

  test('is silenced for ten minutes at most, and not ended earlier by a shorter Retry-After', async () => {
    const { pacer } = setUp();
    pacer.slowDown('search', 60_000);
    pacer.slowDown('search', 1);
    expect(pacer.nextSlotMs('search')).toBeGreaterThanOrEqual(60_000);
    pacer.slowDown('rent', 10_000_000);
    expect(pacer.nextSlotMs('rent')).toBe(600_000);
  });

  test('leaves no timer when it is stopped and refuses what waits', async () => {
    const { clock, pacer } = setUp();
    await pacer.acquire('rent');
    const waiting = pacer.acquire('rent').catch((error: unknown) => error);
    pacer.stop();
    expect(await waiting).toMatchObject({ kind: 'aborted', outcome: 'refused' });
    expect(clock.nextTimerMs()).toBeUndefined();
    await expect(pacer.acquire('list')).rejects.toMatchObject({ kind: 'aborted' });
  });
});

type Event =
  | { readonly do: 'call'; readonly of: EndpointClass; readonly busyMs: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'slow'; readonly of: EndpointClass; readonly ms: number };

const anyClass = fc.constantFrom(...CLASS_ORDER);
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('call' as const), of: anyClass, busyMs: fc.nat(3_000) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(8_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('slow' as const), of: anyClass, ms: fc.nat(20_000) }) },
);

async function play(events: readonly Event[], maxInFlight: number) {
  const { clock, pacer, started, call } = setUp({ maxInFlight });
  const asked: { endpointClass: EndpointClass; name: string }[] = [];
  for (const [index, event] of events.entries()) {
    if (event.do === 'pass') await clock.advance(event.ms);
    if (event.do === 'slow') pacer.slowDown(event.of, event.ms);
    if (event.do === 'call') {
      asked.push({ endpointClass: event.of, name: String(index) });
      void call(event.of, { name: String(index), busyMs: event.busyMs });
    }
  }
  await clock.advance(5_000_000);
  return { started, asked, pacer };
}

function ofClass<T extends { endpointClass: EndpointClass }>(list: readonly T[], name: EndpointClass): T[] {
  return list.filter(({ endpointClass }) => endpointClass === name);
}

describe('a pacer under any sequence of calls', () => {
  test('never starts two calls of a class closer than its gap, keeps their order, and serves all', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        async (events, most) => {
          const { started, asked } = await play(events, most);
          for (const name of CLASS_ORDER) {
            const calls = ofClass(started, name);
            expect(calls.map((call) => call.name)).toEqual(ofClass(asked, name).map((call) => call.name));
            for (const [index, call] of calls.slice(1).entries()) {
              const { maxCalls, ms } = DOCUMENTED_WINDOWS[name] ?? {
                maxCalls: 1,
                ms: DOCUMENTED_GAPS_MS[name],
              };
              const before = calls[index + 1 - maxCalls]?.at ?? Number.NEGATIVE_INFINITY;
              expect(call.at - before).toBeGreaterThanOrEqual(ms);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test('starts a destroy that could start before anything else that waits for a place in flight', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyClass, { minLength: 1, maxLength: 20 }), async (classes) => {
        const { clock, started, call } = setUp({ maxInFlight: 1 });
        void call('other', { name: 'first', busyMs: 60_000 });
        for (const name of classes) void call(name);
        void call('destroy', { name: 'urgent' });
        await clock.advance(60_000);
        const inPlaces = started.filter(({ endpointClass }) => endpointClass !== 'list');
        expect(inPlaces[1]?.endpointClass).toBe('destroy');
      }),
      { numRuns: 40 },
    );
  });
});

test('a pacer is built for any login without sharing', () => {
  const build = (): Pacer => createPacer({ clock: createVirtualClock() });
  const [one, two] = [build(), build()];
  one.slowDown('rent', 5_000);
  expect(two.nextSlotMs('rent')).toBe(0);
});

test('a pacer goes on after the stopped one of its login', async () => {
  const clock = createVirtualClock();
  const stopped = createPacer({ clock });
  (await stopped.acquire('destroy')).release();
  stopped.reserve('rent', 60_000);
  stopped.stop();
  const next = createPacer({ clock, after: stopped });
  expect(next.nextSlotMs('destroy')).toBeGreaterThan(0);
  expect(next.nextSlotMs('rent')).toBe(0);
  (await next.acquire('rent')).release();
  expect(next.nextSlotMs('rent')).toBeGreaterThan(0);
});

test('a call waits for the check of one that the stopped pacer of its login let go, and no longer', async () => {
  const clock = createVirtualClock();
  const stopped = createPacer({ clock });
  const permit = await stopped.acquire('destroy');
  const checked = permit.checkBefore(() => sleep(clock, 1_000));
  stopped.stop();
  let sentAt: number | undefined;
  const next = createPacer({ clock, after: stopped });
  void next.acquire('destroy').then(() => {
    sentAt = clock.monotonic();
  });
  const begun = clock.monotonic();
  await clock.advance(10_000);
  await checked;
  expect((sentAt ?? 0) - begun).toBe(1_000 + 3_060);
});
