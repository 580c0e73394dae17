import { describe, expect, test } from 'vitest';
import { visibleLine, visibleText } from './visible-text.ts';

describe('visible text', () => {
  test.each([
    ['invoice\u202egpj.exe', 'invoice\ufffdgpj.exe'],
    ['a\u0000b\u001b[31mc', 'a\ufffdb\ufffd[31mc'],
    ['zero\u200bwidth\ufeff', 'zero\ufffdwidth\ufffd'],
    ['two\n  lines\tand a tab', 'two lines and a tab'],
    ['日本語 ひらがな عربى', '日本語 ひらがな عربى'],
  ])('shows %j on a line as %j', (text, expected) => {
    expect(visibleLine(text)).toBe(expected);
  });

  test('keeps the lines of a document', () => {
    expect(visibleText('a:\r\n\tb\u202e')).toBe('a:\n\tb\ufffd');
  });
});
