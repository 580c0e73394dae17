import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { alternatives, cutToBytes, fittingText, nearest, nearestModels } from './text.ts';

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
  test.each([
    ['stays when it fits to the byte', 'abcdef', 6, 'abcdef'],
    ['ends in an ellipsis of three bytes when one byte is too many', 'abcdefg', 6, 'abc…'],
    ['loses no character in the middle of the place for the ellipsis', 'abcdé!', 6, 'abc…'],
    ['loses a character of two bytes as a whole', 'abéééé', 6, 'ab…'],
    ['loses a character of four bytes as a whole', 'a😀😀', 7, 'a…'],
    ['keeps a character that ends where the ellipsis begins', 'a😀😀', 8, 'a😀…'],
    ['is the ellipsis alone when its first character does not fit beside it', '😀😀', 6, '…'],
    ['is the ellipsis alone when nothing else has room', 'abcd', 3, '…'],
  ])('a text %s', (_, text, most, expected) => {
    expect(cutToBytes(text, most)).toBe(expected);
  });

  test('encodes no text that is so short that it fits in any case: most are', () => {
    const encode = vi.spyOn(Buffer, 'from');
    try {
      expect(cutToBytes('abc', 9)).toBe('abc');
      expect(encode).not.toHaveBeenCalled();
    } finally {
      encode.mockRestore();
    }
  });

  test('property: never more bytes than allowed, never half a character, and what fits stays', {
    tags: 'long',
  }, () => {
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

describe('the nearest word', () => {
  test.each([
    ['a letter is missing', 'gpu_nme', ['gpu_ram', 'gpu_name'], 'gpu_name'],
    ['a letter is too many', 'gets', ['set', 'get'], 'get'],
    ['the case differs', 'GpuInstanc', ['EndpointGroup', 'GPUINSTANCE'], 'GPUINSTANCE'],
    ['two are equally near: the first', 'cat', ['cut', 'car'], 'cut'],
    ['one character of a short word is wrong', 'gut', ['get'], 'get'],
    ['three of nine characters are wrong', 'instanxxx', ['instances'], 'instances'],
  ])('is found when %s', (_, typed, candidates, expected) => {
    expect(nearest(typed, candidates)).toBe(expected);
  });

  test.each([
    ['no candidate is given', 'get', []],
    ['P21: two characters of a short word are wrong', 'foo', ['top']],
    ['three characters of a short word are wrong', 'xyz', ['get']],
    ['four of nine characters are wrong', 'insxxxx', ['instances']],
  ])('is undefined when %s', (_, typed, candidates) => {
    expect(nearest(typed, candidates)).toBeUndefined();
  });

  test('obeys the given limit', () => {
    expect(nearest('gpu_nme', ['gpu_name'], () => 0)).toBeUndefined();
    expect(nearest('gpu_name', ['gpu_name'], () => 0)).toBe('gpu_name');
  });
});

describe('the models that were meant', () => {
  const NAMES = [
    'H200',
    'H100 SXM',
    'H200 NVL',
    'H100 PCIE',
    'H100 NVL',
    'RTX 4090',
    'RTX 4090 D',
    'RTX 3090',
  ];

  test.each([
    ['H100', ['H100 SXM', 'H100 PCIE', 'H100 NVL']],
    ['h100_sxm', ['H100 SXM']],
    ['rtx4090', ['RTX 4090']],
    ['RTX 490', []],
    ['GTX 4090', ['RTX 4090']],
    ['H800', []],
  ])('B06: of %s are %j', (typed, meant) => {
    expect(nearestModels(typed, NAMES)).toEqual(meant);
  });

  test('are named as alternatives', () => {
    expect([[], ['A'], ['A', 'B'], ['A', 'B', 'C']].map(alternatives)).toEqual([
      '',
      'A',
      'A or B',
      'A, B or C',
    ]);
  });
});
