import { describe, expect, test } from 'vitest';
import { ProgramOutput } from './program-output.ts';

const NONCE = 'k3v9x0q2m7ab';
const start = (attempt = 1) => `\ngpurental ${NONCE} start ${attempt}\n`;
const other = (event: string) => `\ngpurental 0123456789ab ${event}\n`;
const exit = (code = 0) => `\ngpurental ${NONCE} exit ${code}\n`;

/** Returns the output of a log that arrives in these pieces. */
function outputOf(...pieces: readonly string[]): string {
  const output = new ProgramOutput();
  return pieces.map((piece) => output.take(piece)).join('') + output.end();
}

describe('ProgramOutput', () => {
  test.each<[string, string, string]>([
    ['leaves out text before the start', `sshd is up\n${start()}one\n`, 'one\n'],
    [
      'leaves out the lines of the wrapper and their empty lines',
      `${start()}one\ntwo\n${exit()}`,
      'one\ntwo\n',
    ],
    ['keeps a last line without its line break', `${start()}50 %${exit(7)}`, '50 %'],
    ['leaves out what follows the exit', `${start()}one\n${exit()}${exit()}sshd ends\n`, 'one\n'],
    [
      'leaves out text before the start of a program that ends',
      `sshd is up\n${start()}one\n${exit()}`,
      'one\n',
    ],
    ['leaves out what follows an exit whose start is cut off', `two\n${exit()}sshd ends\n${exit()}`, 'two\n'],
    ['leaves out a long text after the exit', `${start()}one\n${exit()}${'x\n'.repeat(9_000)}`, 'one\n'],
    ['returns a long text before an exit once', `${'x\n'.repeat(9_000)}${exit()}`, 'x\n'.repeat(9_000)],
    [
      'keeps the log of another run that the program prints',
      `${start()}one\n${other('start 1')}theirs\n${other('exit 0')}two\n${exit()}sshd ends\n`,
      `one\n${other('start 1')}theirs\n${other('exit 0')}two\n`,
    ],
    ['joins two attempts', `${start()}one\n${start(2)}two\n${exit()}`, 'one\ntwo\n'],
    ['returns a log without a line of the wrapper as a whole', 'one\ntwo\n', 'one\ntwo\n'],
    ['returns what precedes an exit whose start is cut off', `two\n${exit()}`, 'two\n'],
    [
      'keeps lines that only resemble those of the wrapper',
      `${start()}gpurental is up\n`,
      'gpurental is up\n',
    ],
    ['accepts CR LF', `${start().replaceAll('\n', '\r\n')}one\r\n`, 'one\r\n'],
  ])('%s', (_, log, output) => {
    expect(outputOf(log)).toBe(output);
  });

  test('returns the same output when the log arrives character by character, but for empty lines', () => {
    const log = `boot\n${start()}one\ngpu\ngpurental\n50 %\n${start(2)}two${exit(7)}rest\n`;
    const lines = (text: string) => text.split('\n').filter((line) => line !== '');
    expect(lines(outputOf(...log))).toEqual(lines(outputOf(log)));
  });

  test('returns text at once while the program runs, and the beginning of a line of the wrapper never', () => {
    const output = new ProgramOutput();
    expect(output.take(`${start()}one\n`)).toBe('one\n');
    expect(output.take('two')).toBe('two');
    expect(output.take(`\ngpurental ${NONCE} ex`)).toBe('');
    expect(output.hasEnded).toBe(false);
    expect(output.take('it 0\n')).toBe('');
    expect(output.hasEnded).toBe(true);
  });

  test('withholds no more than 16 KiB when the start is cut off', () => {
    const output = new ProgramOutput();
    expect(output.take('x\n'.repeat(8_192))).toBe('');
    expect(output.take('x\n')).toBe('x\n'.repeat(8_193));
    expect(output.take('y\n')).toBe('y\n');
    expect(output.take(exit())).toBe('');
    expect(output.hasEnded).toBe(true);
    expect(output.end()).toBe('');
  });
});
