import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { sleep } from './clock.ts';
import { DeadlineError, withDeadline } from './deadline.ts';

const never = () => new Promise<never>(() => {});

test('what ends in time is given as it is, and nothing of the limit stays behind', async () => {
  const clock = createVirtualClock();
  const { signal } = new AbortController();
  expect(await withDeadline({ clock, limitMs: 1000, signal }, async () => 'done')).toBe('done');
  expect([clock.nextTimerMs(), getEventListeners(signal, 'abort')]).toEqual([undefined, []]);
});

test('what fails in time fails with its own error, and nothing of the limit stays behind', async () => {
  const clock = createVirtualClock();
  const failing = withDeadline({ clock, limitMs: 1000 }, async () => {
    throw new Error('broken');
  });
  await expect(failing).rejects.toThrow('broken');
  expect(clock.nextTimerMs()).toBeUndefined();
});

describe('what does not listen', () => {
  test('is left when time is up, with an error that says how long it had', async () => {
    const clock = createVirtualClock();
    const late = expect(withDeadline({ clock, limitMs: 1000 }, never)).rejects.toThrow(
      new DeadlineError('No answer within 1000 ms'),
    );
    await clock.advance(1000);
    await late;
  });

  test('is left when its caller gives up, with the reason of that', async () => {
    const clock = createVirtualClock();
    const caller = new AbortController();
    const given = withDeadline({ clock, limitMs: 1000, signal: caller.signal }, never);
    caller.abort(new Error('no longer wanted'));
    expect(getEventListeners(caller.signal, 'abort')).toEqual([]);
    await expect(given).rejects.toThrow('no longer wanted');
    expect(clock.nextTimerMs()).toBeUndefined();
  });

  test('leaves nothing at its caller when time is up', async () => {
    const clock = createVirtualClock();
    const { signal } = new AbortController();
    const late = withDeadline({ clock, limitMs: 1000, signal }, never).catch((error) => error);
    await clock.advance(1000);
    expect(await late).toMatchObject({ name: 'DeadlineError' });
    expect([clock.nextTimerMs(), getEventListeners(signal, 'abort')]).toEqual([undefined, []]);
  });

  test('has all of its time', async () => {
    const clock = createVirtualClock();
    const slow = withDeadline({ clock, limitMs: 1000 }, async () => {
      await sleep(clock, 999);
      return 'done';
    });
    await clock.advance(999);
    expect(await slow).toBe('done');
  });
});

test('listeners get the reason, whether time is up or the caller gives up', async () => {
  const clock = createVirtualClock();
  const caller = new AbortController();
  const heard: unknown[] = [];
  const run = (signal: AbortSignal) => {
    signal.addEventListener('abort', () => heard.push(signal.reason));
    return never();
  };
  const late = withDeadline({ clock, limitMs: 1000 }, run).catch((error) => error);
  const givenUp = withDeadline({ clock, limitMs: 2000, signal: caller.signal }, run).catch((error) => error);
  await clock.advance(1000);
  caller.abort('no longer wanted');
  expect(heard).toEqual([await late, await givenUp]);
});

test.each([
  ['gives an answer', () => 'an answer'],
  [
    'fails',
    () => {
      throw new Error('interrupted');
    },
  ],
])('what %s once time is up is late all the same', async (_, end) => {
  const clock = createVirtualClock();
  const late = withDeadline({ clock, limitMs: 1000 }, async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    return end();
  }).catch((error) => error);
  await clock.advance(1000);
  expect(await late).toEqual(new DeadlineError('No answer within 1000 ms'));
});

test('nothing begins for a caller that has given up', async () => {
  const clock = createVirtualClock();
  let began = false;
  const run = async () => {
    began = true;
  };
  await expect(
    withDeadline({ clock, limitMs: 1000, signal: AbortSignal.abort(new Error('too late')) }, run),
  ).rejects.toThrow('too late');
  expect(began).toBe(false);
});

test('what throws at once, for a caller that gives up in that moment, leaves nothing unhandled', async () => {
  const caller = new AbortController();
  const run = () => {
    caller.abort(new Error('given up'));
    throw new Error('broken');
  };
  const clock = createVirtualClock();
  await expect(withDeadline({ clock, limitMs: 1000, signal: caller.signal }, run)).rejects.toThrow(
    /given up|broken/,
  );
});

test('starts the limit again on each byte, and says so when no more come', async () => {
  const clock = createVirtualClock();
  const late = withDeadline({ clock, limitMs: 1000 }, async (_signal, heard) => {
    await sleep(clock, 900);
    heard();
    return never();
  }).catch((error) => error);
  await clock.advance(1899);
  expect(clock.nextTimerMs()).toBeDefined();
  await clock.advance(1);
  expect(await late).toEqual(new DeadlineError('Not a byte for 1000 ms'));
  expect(clock.nextTimerMs()).toBeUndefined();
});
