import { describe, expect, test } from 'vitest';
import { at, holding, NOW, row, time } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { Machine } from '../../accounts/beliefs/machine.ts';
import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { MachineWatch, SteadyClock } from './memory.ts';

const HOUR = 3_600_000;

function watching() {
  const clock = createVirtualClock({ startMs: NOW });
  const steady = new SteadyClock(clock);
  const watch = new MachineWatch();
  return {
    clock,
    watch,
    look: (status: GpuInstanceStatus | undefined, shown?: Machine) => {
      watch.note({ status, row: shown, steady });
      return { ...watch.fields };
    },
  };
}

/** Returns a record of a rental that many seconds ago. */
const rentedFor = (seconds: number, instanceId = '1') =>
  holding({
    instanceId,
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: time(-10) },
      { type: 'Rented', status: 'True', reason: 'Rented', message: '', lastTransitionTime: time(-seconds) },
    ],
  });

describe('how long a machine has been rented', () => {
  test('is known from the record, and how long it was watched from the first look', async () => {
    const { clock, look } = watching();
    expect(look(rentedFor(300))).toMatchObject({ rentedSince: at(-300), watchedSince: NOW });
    await clock.advance(5_000);
    expect(look(rentedFor(300))).toMatchObject({ rentedSince: at(-300), watchedSince: NOW });
  });

  test('counts from the first look where the record does not say', () => {
    const { look } = watching();
    expect(look(holding({ conditions: [] }))).toMatchObject({ rentedSince: NOW, watchedSince: NOW });
    const { look: again } = watching();
    expect(again(holding())).toMatchObject({ rentedSince: NOW });
  });

  test('is not changed by a clock that is set after the first look', () => {
    const { clock, look } = watching();
    look(rentedFor(300));
    clock.jumpWallClock(HOUR);
    expect(look(rentedFor(300)).rentedSince).toBe(at(-300));
  });

  test('begins again with the next machine, and is nothing without one', async () => {
    const { clock, look } = watching();
    look(rentedFor(300));
    await clock.advance(5_000);
    expect(look(rentedFor(-5, '2'))).toMatchObject({ rentedSince: at(5), watchedSince: at(5) });
    expect(look({})).toMatchObject({ rentedSince: undefined, watchedSince: undefined });
    expect(look(undefined)).toMatchObject({ rentedSince: undefined, watchedSince: undefined });
  });
});

test('a machine that follows another without a pause has its own time', async () => {
  const { clock, look } = watching();
  look(rentedFor(300));
  await clock.advance(5_000);
  expect(look(rentedFor(300, '2'))).toMatchObject({ rentedSince: at(5) });
});

describe('since when a machine says its word', () => {
  const recorded = (actualStatus: string) => holding({ actualStatus, actualStatusSince: time(-240) });
  const sinceFirstLook = (word: Machine['state'], status: GpuInstanceStatus | undefined) =>
    watching().look(status, row({ state: word })).seenStatus;

  test('is known from the record where that has the same word', () => {
    expect(sinceFirstLook('loading', recorded('loading'))).toEqual({
      ...{ state: 'loading', marketStatus: 'loading' },
      since: at(-240),
    });
  });

  test.each([
    ['exited', 'exited'],
    ['unseen', 'unknown'],
    ['offline', 'offline'],
  ] as const)(
    'counts from now for %s: a restart must not make lost what may have been well meanwhile',
    (state, marketStatus) => {
      expect(sinceFirstLook(state, recorded(marketStatus))).toEqual({ state, marketStatus, since: NOW });
    },
  );

  test.each([
    ['another word', recorded('running')],
    ['no word', {}],
    ['nothing', undefined],
  ])('counts from now where the record has %s', (_, status) => {
    expect(sinceFirstLook('loading', status)).toEqual({
      state: 'loading',
      marketStatus: 'loading',
      since: NOW,
    });
  });

  test('counts from the look that showed it first, whatever the record says later', async () => {
    const { clock, look } = watching();
    look(recorded('loading'), row({ state: 'loading' }));
    await clock.advance(5_000);
    expect(look(recorded('running'), row()).seenStatus).toEqual({
      state: 'running',
      marketStatus: 'running',
      since: at(5),
    });
    await clock.advance(5_000);
    expect(look(recorded('running'), row()).seenStatus).toEqual({
      state: 'running',
      marketStatus: 'running',
      since: at(5),
    });
  });

  test('stays while no list shows the machine', async () => {
    const { clock, look } = watching();
    look(recorded('loading'), row({ state: 'loading' }));
    await clock.advance(5_000);
    expect(look(recorded('loading')).seenStatus).toEqual({
      state: 'loading',
      marketStatus: 'loading',
      since: at(-240),
    });
  });
});

describe('the end of a bad spell', () => {
  const endAfter = async (...words: readonly Machine['state'][]) => {
    const { clock, look, watch } = watching();
    for (const state of words) {
      look(holding(), row({ state }));
      await clock.advance(1_000);
    }
    return { ...watch.fields }.badEndedAt;
  };

  test('is when the first good word is seen', async () => {
    expect(await endAfter('exited', 'offline', 'running', 'stopped')).toBe(at(2));
  });

  test('is not seen where it goes on, or there was none', async () => {
    expect(await endAfter('running', 'exited', 'unseen')).toBeUndefined();
    expect(await endAfter('loading', 'running')).toBeUndefined();
  });

  test('of one machine says nothing of the next', async () => {
    const { look, watch } = watching();
    look(holding(), row({ state: 'exited' }));
    look(holding(), row());
    watch.ended();
    expect({ ...watch.fields }).toMatchObject({
      badEndedAt: undefined,
      seenStatus: undefined,
      progress: undefined,
    });
  });
});

describe('progress in loading', () => {
  test('is a text that changes while it is watched: the first one may be as old as you like', async () => {
    const { clock, look } = watching();
    const texts = ['layer 1', 'layer 1', 'layer 2', 'layer 2'];
    const seen = [];
    for (const statusMessage of texts) {
      seen.push(look(holding(), row({ statusMessage })).progress);
      await clock.advance(1_000);
    }
    const first = { text: 'layer 1', at: Number.NEGATIVE_INFINITY };
    const second = { text: 'layer 2', at: at(2) };
    expect(seen).toEqual([first, first, second, second]);
  });

  test('on record is read once, so that a clock that is set does not move it', () => {
    const { clock, look } = watching();
    expect(look(holding({ progressAt: time(-60) })).progressOnRecord).toBe(at(-60));
    clock.jumpWallClock(HOUR);
    expect(look(holding({ progressAt: time(-60) })).progressOnRecord).toBe(at(-60));
    expect(look(holding({ progressAt: time(HOUR / 1000) })).progressOnRecord).toBe(NOW);
    expect(look(holding()).progressOnRecord).toBeUndefined();
    expect(look(undefined).progressOnRecord).toBeUndefined();
  });
});
