import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { CommandContext } from '../command.ts';
import { confirmed } from './prompt.ts';

/** Returns the answer to a question for this input, at a terminal or from a pipe. */
async function answerTo(typed: string, { isTTY = true, options = {} } = {}) {
  const stderr = new PassThrough();
  const stdin = Object.assign(new PassThrough().end(typed), { isTTY });
  const context = { stdin, stderr, signal: new AbortController().signal } as unknown as CommandContext;
  const said = await confirmed('Destroy it?', { options }, context).then(
    () => 'yes',
    (error: Error) => error.message,
  );
  return { said, shown: String(stderr.read() ?? '') };
}

test.each(['y', 'Y', 'yes', 'YES', ' yes '])('%j is yes', async (typed) => {
  expect((await answerTo(`${typed}\r`)).said).toBe('yes');
});

test.each(['', 'n', 'no', 'nay', 'not yet', 'yess', 'ye', 'yes, but', 'maybe', 'ja'])(
  'anything but y or yes is no: %j',
  async (typed) => {
    expect(await answerTo(`${typed}\r`)).toEqual({ said: 'Nothing was done.', shown: 'Destroy it? [y/N] ' });
  },
);

test('a terminal that hangs up confirms nothing', async () => {
  expect((await answerTo('')).said).toContain('No answer');
});

test('does not ask with --yes', async () => {
  expect(await answerTo('n\n', { options: { yes: true } })).toEqual({ said: 'yes', shown: '' });
});

test('F10: without a terminal nothing is done unless --yes answers', async () => {
  expect(await answerTo('y\n', { isTTY: false })).toEqual({
    said: 'Destroy it? Nothing was done: stdin is no terminal, so nothing was asked.',
    shown: '',
  });
  expect(await answerTo('n\n', { isTTY: false, options: { yes: true } })).toEqual({ said: 'yes', shown: '' });
});
