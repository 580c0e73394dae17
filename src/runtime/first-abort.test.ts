import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { firstAbort } from './first-abort.ts';

describe('a signal joined from several', () => {
  test('is aborted with the reason of the first that is aborted', () => {
    const [a, b] = [new AbortController(), new AbortController()];
    const { signal } = firstAbort([a.signal, b.signal]);
    b.abort('second');
    a.abort('first');
    expect(signal.reason).toBe('second');
  });

  test('is aborted from the beginning where one source is', () => {
    const { signal } = firstAbort([new AbortController().signal, AbortSignal.abort('before')]);
    expect(signal.reason).toBe('before');
  });

  test('leaves no listener on its sources once it is released', () => {
    const source = new AbortController();
    const { signal, release } = firstAbort([source.signal]);
    release();
    source.abort();
    expect(signal.aborted).toBe(false);
    expect(getEventListeners(source.signal, 'abort')).toEqual([]);
  });
});
