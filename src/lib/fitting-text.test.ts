import { expect, test } from 'vitest';
import { fittingText } from './fitting-text.ts';

test.each([
  ['stays where it fits', 'abc', 3, 'abc'],
  ['is cut where it does not', 'abcd', 3, 'abc'],
  ['is never cut within a character', 'ab😀', 3, 'ab'],
  ['keeps a character that fits as a whole', 'a😀b', 3, 'a😀'],
  ['is nothing where it is empty', '', 3, undefined],
  ['is nothing where a half character was all', '😀', 1, undefined],
  ['is nothing where there is none', undefined, 3, undefined],
])('a text %s', (_, text, most, expected) => {
  expect(fittingText(text, most)).toBe(expected);
});
