import { describe, expect, test } from 'vitest';
import { lastLines, markOf, parsePosition, positionAt, textAfter, textSince } from './log-lines.ts';

describe('text of a log after an earlier read', () => {
  test.each<[string, string, string, string, boolean]>([
    ['is what was added', 'a\nb\n', 'a\nb\nc\n', 'c\n', false],
    ['is what was added when early lines left', 'a\nb\nc\n', 'c\nd\n', 'd\n', false],
    ['is empty when nothing was written', 'a\nb\n', 'a\nb\n', '', false],
    ['continues a line without its line break', 'a\n 10 %', 'a\n 10 %\r 20 %', '\r 20 %', false],
    ['completes a line', 'a\nlos', 'a\nloss 1\nend\n', 's 1\nend\n', false],
    ['continues a log that is one line', 'x', 'xyz', 'yz', false],
    ['counts equal lines once each', 'x\nx\n', 'x\nx\nx\n', 'x\n', false],
    ['is the whole log after an empty one', '', 'a\nb', 'a\nb', false],
    ['is the whole log, as cut, if no line is left', 'a\nb\n', 'y\nz\n', 'y\nz\n', true],
    ['is the whole log, as cut, if its only line changed', 'abc', 'xyz\n', 'xyz\n', true],
    ['is the changed line if the one without line break changed', 'a\nbc', 'a\nxy\n', 'xy\n', false],
    ['is empty when the log was emptied', 'a\n', '', '', false],
    ['keeps control characters', 'a\n', 'a\n\u001b[31mred\u0000\r\n', '\u001b[31mred\u0000\r\n', false],
  ])('%s', (_, before, now, added, isCut) => {
    expect(textAfter(markOf(before), now)).toEqual({ added, isCut });
  });

  test('is joined to the whole log from any two reads of it', () => {
    const log = Array.from({ length: 60 }, (_, at) => `step ${at % 7}\n`).join('');
    for (let cut = 100; cut < log.length; cut += 13) {
      const before = log.slice(0, cut);
      expect(before + textAfter(markOf(before), log).added).toBe(log);
    }
  });

  test('takes less than a second for many equal lines that differ at the end', () => {
    const before = `${'x\n'.repeat(2_000)}y\n`;
    const begun = performance.now();
    textAfter(markOf(before), 'x\n'.repeat(2_000));
    expect(performance.now() - begun).toBeLessThan(1_000);
  });
});

describe('a position', () => {
  const log = Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join('');

  test.each([
    ['at the end of a line', log.slice(0, 200).replace(/[^\n]*$/, '')],
    ['inside a line', log.slice(0, 205)],
    ['in the first line', log.slice(0, 3)],
    ['of an empty log', ''],
  ])('%s leads to the text after it', (_, before) => {
    const position = parsePosition(positionAt('4711', markOf(before)));
    expect(position?.machineId).toBe('4711');
    expect(before + textSince(position?.mark ?? markOf('?'), log).added).toBe(log);
  });

  test('is found also in a log that begins later', () => {
    const { mark } = parsePosition(positionAt('1', markOf(log.slice(0, 200)))) ?? {};
    const later = log.slice(100);
    expect(textSince(mark ?? markOf('?'), later)).toEqual({ added: log.slice(200), isCut: false });
  });

  test('that the log no longer contains leads to all of it, as cut', () => {
    expect(textSince(markOf('other\n'), log)).toEqual({ added: log, isCut: true });
  });

  test.each([
    '',
    '1',
    '9'.repeat(100_000),
    '-1.0_47DEQpj8HBS',
    '1.0_47DEQpj8HB',
    '1/2.0_47DEQpj8HBS',
    ...['1.0_47DEQpj8HBS ', `1${'.47DEQpj8HBS'.repeat(9)}.0_47DEQpj8HBS`, '1.99999999_47DEQpj8HBS'],
  ])('is not %j', (text) => {
    expect(parsePosition(text)).toBeUndefined();
  });
});

test.each([
  ['a\nb\nc\n', 100, 'a\nb\nc\n'],
  ['aaa\nb\nc\n', 5, 'b\nc\n'],
  ['abcdef', 3, 'def'],
  ['a\nbcdefgh\n', 4, 'fgh\n'],
])('the last lines of %j within %d characters are %j', (text, length, expected) => {
  expect(lastLines(text, length)).toBe(expected);
});
