import { setTimeout as later } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { currentSubject, inBackground, onBehalfOf } from './background.ts';

const SUBJECT = { task: 'readiness probe', object: 'team/trainer' };

describe('work in the background', () => {
  test.each<[string, () => Promise<never>]>([
    [
      'throws at once',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    [
      'rejects later',
      async () => {
        await later(1);
        throw new Error('broken');
      },
    ],
  ])('hands its error to its handler once when it %s', async (_, work) => {
    const failed = Promise.withResolvers<unknown>();
    const errors: unknown[] = [];
    inBackground(SUBJECT, work, (error) => {
      errors.push(error);
      failed.resolve(error);
    });
    expect(await failed.promise).toEqual(new Error('broken'));
    expect(errors).toHaveLength(1);
  });

  test('knows its subject, also after timers, and no other work does', async () => {
    const seen: unknown[] = [];
    const ended = Promise.withResolvers<void>();
    inBackground(
      SUBJECT,
      async () => {
        seen.push(currentSubject());
        await later(1);
        seen.push(currentSubject());
        ended.resolve();
      },
      ended.reject,
    );
    await onBehalfOf({ task: 'other' }, async () => later(5));
    await ended.promise;
    expect(seen).toEqual([SUBJECT, SUBJECT]);
    expect(currentSubject()).toBeUndefined();
  });
});
