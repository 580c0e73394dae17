import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { KUBECTL_YAML } from './kubectl-yaml.ts';

/** Words and what `kubectl annotate --local -f` 1.32 reads them as. */
const READ: readonly (readonly [string, unknown])[] = [
  ...['e1', 'E80', 'e-1', 'e+1', '.e1', '-e1', '1e', '0b', '0x', '_1', '._1', '.0_', '.', '1-2'].map(
    (word) => [word, word] as const,
  ),
  ...['12:30', '2026-01-01', 'nan', 'inf', '=', '0xg', '0b2', '0o8'].map((word) => [word, word] as const),
  ...[
    ['1e3', 1000],
    ['7E_1', 70],
    ['0x10', 16],
    ['-0X1f', -31],
    ['0b101', 5],
    ['0o17', 15],
    ['017', 15],
    ['08', 8],
    ['1_000', 1000],
    ['+_8', 8],
    ['.5', 0.5],
    ['.0_1', 0.01],
    ['-.5e1', -5],
    ['1.', 1],
  ].map(([word, value]) => [String(word), value] as const),
  ...['on', 'yes', 'y', 'true', 'True', 'ON'].map((word) => [word, true] as const),
  ...['off', 'no', 'n', 'N', 'false'].map((word) => [word, false] as const),
  ...['null', 'Null', '~'].map((word) => [word, null] as const),
];

test.each(READ)('reads %s as kubectl does', (word, value) => {
  expect(parse(`name: ${word}`, KUBECTL_YAML)).toEqual({ name: value });
});

test.each(READ.map(([word]) => word))('writes the text %s so that YAML 1.1 and 1.2 read a text', (word) => {
  const text = stringify({ name: word }, KUBECTL_YAML);
  expect(parse(text, KUBECTL_YAML)).toEqual({ name: word });
  expect(parse(text)).toEqual({ name: word });
});

test.each([5, 1000, -3, 0.25, 1e21, 1e-7, 0])(
  'writes the number %s so that it stays that number',
  (value) => {
    const text = stringify({ value }, KUBECTL_YAML);
    expect(parse(text, KUBECTL_YAML)).toEqual({ value });
    expect(parse(text)).toEqual({ value });
  },
);
