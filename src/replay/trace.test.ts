import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { offeredBetween, parseTrace, TraceError } from './trace.ts';

function errorOf(text: string): TraceError {
  try {
    parseTrace(text);
  } catch (error) {
    if (error instanceof TraceError) return error;
    throw error;
  }
  throw new Error('The trace was accepted.');
}

describe('a trace', () => {
  test('is parsed in any order of columns, with comments, blank lines and CRLF', () => {
    expect(parseTrace('\uFEFF# night\r\n\r\n"load","seconds"\r\n0.5,0\r\n1e2,10\r\n')).toEqual({
      points: [
        { seconds: 0, load: 0.5 },
        { seconds: 10, load: 100 },
      ],
      start: { hot: undefined, cold: undefined, queue: undefined },
    });
  });

  test('contains the initial state of the group in its first row', () => {
    const { start } = parseTrace('seconds,load,hot,cold,queue\n0,5,2,3,70.5\n10,5,,,\n');
    expect(start).toEqual({ hot: 2, cold: 3, queue: 70.5 });
  });

  test.each([
    { text: '', line: 1, message: 'the trace is empty' },
    { text: 'seconds,load\n', line: 1, message: 'the trace has no rows' },
    { text: 'second,load\n0,1', line: 1, message: 'unknown column "second"' },
    { text: 'seconds,hot\n0,1', line: 1, message: 'column load is missing' },
    { text: 'seconds,load,load\n0,1,1', line: 1, message: 'duplicate column load' },
    {
      text: 'seconds,load\n0,1\n\n# gap\n10,x',
      line: 5,
      message: 'load "x" is not a number from 0 to 10^12',
    },
    { text: 'seconds,load\n0,-1', line: 2, message: 'load "-1" is not a number from 0 to 10^12' },
    { text: 'seconds,load\n0,NaN', line: 2, message: 'load "NaN" is not a number from 0 to 10^12' },
    { text: 'seconds,load\n0,1e30', line: 2, message: 'load "1e30" is not a number from 0 to 10^12' },
    { text: 'seconds,load\n0', line: 2, message: 'load is empty' },
    { text: 'seconds,load\n0,1,2', line: 2, message: '3 values in 2 columns' },
    {
      text: 'seconds,load\n10,1\n10,2',
      line: 3,
      message: 'seconds 10 is not greater than 10 of the previous row',
    },
    {
      text: 'seconds,load\n0,1\n3000000,2',
      line: 3,
      message: 'seconds 3000000 is more than 31 days after the first row',
    },
    { text: 'seconds,load,hot\n0,1,1.5', line: 2, message: 'hot 1.5 is not a whole number up to 1000' },
    {
      text: 'seconds,load,hot\n0,1,1e9',
      line: 2,
      message: 'hot 1000000000 is not a whole number up to 1000',
    },
    { text: 'seconds,load,hot\n0,1,1\n10,1,2', line: 3, message: 'hot is set after the first row' },
  ])('is refused on line $line: $message', ({ text, line, message }) => {
    const error = errorOf(text);
    expect({ line: error.line, message: error.message }).toEqual({ line, message });
    expect(error.remedy).not.toBe('');
  });

  test('offers the same work in a span as in its parts, and none before its first row', () => {
    const loads = fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 20 });
    const cuts = fc.array(fc.integer({ min: -50, max: 300 }), { minLength: 2, maxLength: 10 });
    fc.assert(
      fc.property(loads, cuts, (values, times) => {
        const text = values.map((load, index) => `${index * 7},${load}`).join('\n');
        const { points } = parseTrace(`seconds,load\n${text}`);
        const sorted = times.toSorted((a, b) => a - b);
        const parts = sorted.slice(1).map((to, index) => offeredBetween(points, sorted[index] ?? to, to));
        const whole = offeredBetween(points, sorted[0] ?? 0, sorted.at(-1) ?? 0);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(whole, 6);
        expect(offeredBetween(points, -100, 0)).toBe(0);
      }),
    );
  });
});
