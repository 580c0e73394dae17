import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { CommandContext } from '../command.ts';
import { confirm } from './prompt.ts';

/** What becomes of a question where this is typed, at a terminal or into a pipe. */
async function answerTo(typed: string, { isTTY = true, otherwise = true } = {}) {
  const stderr = new PassThrough();
  const stdin = Object.assign(new PassThrough().end(typed), { isTTY });
  const context = { stdin, stderr, signal: new AbortController().signal } as unknown as CommandContext;
  return { confirmed: await confirm(context, 'Destroy it?', otherwise), shown: String(stderr.read() ?? '') };
}

test.each(['y', 'Y', 'yes', 'YES', ' yes '])('%j is yes', async (typed) => {
  expect((await answerTo(`${typed}\r`)).confirmed).toBe(true);
});

test.each(['', 'n', 'no', 'nay', 'not yet', 'yess', 'ye', 'yes, but', 'maybe', 'ja'])(
  'anything but y or yes is no: %j',
  async (typed) => {
    expect(await answerTo(`${typed}\r`)).toEqual({ confirmed: false, shown: 'Destroy it? [y/N] ' });
  },
);

test('a terminal that hangs up confirms nothing', async () => {
  await expect(answerTo('')).rejects.toThrow('Nobody answers');
});

test.each([true, false])('nobody is asked through a pipe: %j holds', async (otherwise) => {
  expect(await answerTo('y\n', { isTTY: false, otherwise })).toEqual({ confirmed: otherwise, shown: '' });
});
