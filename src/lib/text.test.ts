import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutToBytes, fittingText } from './text.ts';

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

describe('cutToBytes', () => {
  test('property: never more bytes than allowed, never half a character, and what fits stays', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.integer({ min: 3, max: 80 }),
        (text, max) => {
          const wellFormed = text.toWellFormed();
          const cut = cutToBytes(wellFormed, max);
          expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
          if (Buffer.byteLength(wellFormed) <= max) expect(cut).toBe(wellFormed);
          else expect(wellFormed.startsWith(cut.slice(0, -1)) && cut.endsWith('…')).toBe(true);
        },
      ),
    );
  });
});
