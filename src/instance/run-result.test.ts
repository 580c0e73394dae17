import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { outputInLog, resultInFiles, resultInLog } from './run-result.ts';

const NONCE = 'k3v9x0q2m7ab';
const OTHER = 'b7m2q0x9v3ka';
const start = (attempt: number, nonce = NONCE) => `\ngpurental ${nonce} start ${attempt}\n`;
const exit = (code: number | string, nonce = NONCE) => `\ngpurental ${nonce} exit ${code}\n`;

describe('the result in a log', () => {
  test.each<[string, string, ReturnType<typeof resultInLog>]>([
    ['of a program', `set-up\n${start(1)}a\nb\n${exit(0)}`, { exitCode: 0, log: 'a\nb\n', isWhole: true }],
    ['without output', `${start(1)}${exit(7)}`, { exitCode: 7, log: '', isWhole: true }],
    ['without a final line feed', `${start(1)}a${exit(7)}`, { exitCode: 7, log: 'a', isWhole: true }],
    [
      'with empty lines at the end',
      `${start(1)}a\n\n\n${exit(7)}`,
      { exitCode: 7, log: 'a\n\n\n', isWhole: true },
    ],
    [
      'of its last attempt',
      `${start(1)}a\n${start(2)}b\n${exit(0)}`,
      { exitCode: 0, log: 'b\n', isWhole: true },
    ],
    [
      'that a new start repeats',
      `${start(1)}a\n${exit(3)}${exit(3)}set-up\n${exit(3)}`,
      { exitCode: 3, log: 'a\n', isWhole: true },
    ],
    [
      'that a new start repeats, without output',
      `${start(1)}${exit(3)}${exit(3)}`,
      { exitCode: 3, log: '', isWhole: true },
    ],
    [
      'of its last attempt, if each has a result',
      `${start(1)}a\n${exit(3)}${start(2)}b\n${exit(4)}`,
      { exitCode: 4, log: 'b\n', isWhole: true },
    ],
    [
      'of an attempt before one that runs',
      `${start(1)}a\n${exit(3)}${start(2)}b\n`,
      { exitCode: 3, log: 'a\n', isWhole: true },
    ],
    ['whose start is cut off', `b\n${exit(0)}${exit(0)}`, { exitCode: 0, log: 'b\n', isWhole: false }],
    [
      'that shows times and carriage returns',
      `10:00 gpurental ${NONCE} start 1\r\n10:01 a\r\n10:02 gpurental ${NONCE} exit 9\r\n`,
      { exitCode: 9, log: '10:01 a\r\n10:02 ', isWhole: true },
    ],
    [
      'without the last line feed',
      `${start(1)}a\n${exit(5)}`.trimEnd(),
      { exitCode: 5, log: 'a\n', isWhole: true },
    ],
    ['of another attempt to rent', `${start(1, OTHER)}a\n${exit(0, OTHER)}`, undefined],
    ['of a program that runs', `${start(1)}a\n`, undefined],
    ['that no shell has', `${start(1)}${exit(256)}`, undefined],
    ['with a word for a number', `${start(1)}${exit('$_e')}${exit('-1')}${exit('0x0')}`, undefined],
    ['inside a line', `${start(1)}echo gpurental ${NONCE} exit 0 >&3\n`, undefined],
    ['of nothing', '', undefined],
  ])('%s', (_, text, result) => {
    expect(resultInLog(text, NONCE)).toEqual(result);
  });

  test('is undefined for an empty nonce, and for one with other characters', () => {
    expect(resultInLog('gpurental  exit 0\n', '')).toBeUndefined();
    expect(resultInLog('gpurental a exit 0\n', '.')).toBeUndefined();
  });

  test('has every character that the program printed', () => {
    const output = fc.array(
      fc.constantFrom('a', '\n', '\r\n', ' ', 'gpurental', 'exit 0', `${OTHER} exit 1`),
      {
        maxLength: 12,
      },
    );
    fc.assert(
      fc.property(output, fc.nat({ max: 255 }), (parts, exitCode) => {
        const log = parts.join('');
        const text = `set-up\n${start(1)}${log}${exit(exitCode)}`;
        expect(resultInLog(text, NONCE)).toEqual({ exitCode, log, isWhole: true });
      }),
    );
  });
});

describe('the output in a log', () => {
  test.each([
    ['of a program that runs', `set-up${start(1)}a\nb`, { log: 'a\nb', isWhole: true }],
    ['of its last attempt', `${start(1)}a\n${exit(1)}${start(2)}b\n`, { log: 'b\n', isWhole: true }],
    ['of a program that has ended', `${start(1)}a\n${exit(1)}${exit(1)}`, { log: 'a\n', isWhole: true }],
    ['of a program that printed nothing', `${start(1)}${exit(1)}`, { log: '', isWhole: true }],
    ['whose start is cut off', 'a\n', { log: 'a\n', isWhole: false }],
    [
      'of a program that printed nothing, without empty lines',
      `gpurental ${NONCE} start 1\ngpurental ${NONCE} exit 1\n`,
      { log: '', isWhole: true },
    ],
  ])('%s', (_, text, output) => {
    expect(outputInLog(text, NONCE)).toEqual(output);
  });

  test('is all of it for an empty nonce', () => {
    const text = 'gpurental  start 1\na\ngpurental  exit 0\n';
    expect(outputInLog(text, '')).toEqual({ log: text, isWhole: false });
  });
});

describe('the result in a list of files', () => {
  test.each([
    [`a\nexit.0.${NONCE}\nok\nt\n`, 0],
    [`/var/tmp/.gpurental:\na  exit.143.${NONCE}  ok\n`, 143],
    [`-rw-r--r-- 1 root root 0 Nov 30 05:00 exit.7.${NONCE}\n`, 7],
    [`exit.255.${NONCE}\n`, 255],
    [`exit.0.${OTHER}\nexit.3.${NONCE}\n`, 3],
    [`exit.0.${OTHER}\n`, undefined],
    [`ls: cannot access 'exit.0.${NONCE}': No such file or directory\n`, undefined],
    [`ls: exit.0.${NONCE} not found\n`, undefined],
    [`exit.0.${NONCE}:\n`, undefined],
    [`exit.x7.${NONCE}\nexit.7x.${NONCE}\nexit.0007.${NONCE}\n`, undefined],
    [`exit.256.${NONCE}\n`, undefined],
    [`exit..${NONCE}\n`, undefined],
    [`exit.*.${NONCE}\n`, undefined],
    [`exit.0.${NONCE}.txt\nmy-exit.0.${NONCE}\n`, undefined],
    ['exit.0\nexit.0.\n', undefined],
    ['', undefined],
  ])('that reads %j is %s', (output, code) => {
    expect(resultInFiles(output, NONCE)).toBe(code);
  });
});
