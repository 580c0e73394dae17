import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellQuoted } from './shell.ts';

test('words that are quoted reach a program as they are', () => {
  const words = [
    '',
    'plain',
    'a b',
    "it's",
    '$HOME',
    '"',
    '\\',
    '*',
    'a\nb',
    '#x',
    '~',
    '`id`',
    '!',
    '-n',
    '=',
    'é',
  ];
  const line = ['printf', '%s\\0', ...words].map(shellQuoted).join(' ');
  const printed = execFileSync('sh', ['-c', line], { encoding: 'utf8' });
  expect(printed.split('\0').slice(0, -1)).toEqual(words);
});
