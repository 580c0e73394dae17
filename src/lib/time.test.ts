import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  formatDuration,
  formatExactTime,
  formatMicroTime,
  formatTime,
  parseDuration,
  parseHttpDate,
  parseTime,
} from './time.ts';

test.for([
  ['250ms', 250],
  ['45s', 45_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['0.25s', 250],
  ['10.125s', 10_125],
  ['1h2m3s4ms', 3_723_004],
  ['0s', 0],
] as const)('%s are %i ms', ([text, milliseconds]) => {
  expect(parseDuration(text)).toBe(milliseconds);
});

test.for(['', '5', 's', '5d', '-5s', '5 s', 'x5s', '5sx', '1h 30m', '.5s', '1.s', '5S'])(
  '"%s" is no duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test.for([
  [0, '0ms'],
  [250.4, '250ms'],
  [999, '999ms'],
  [1000, '1s'],
  [45_000, '45s'],
  [60_000, '1m'],
  [90_000, '1m30s'],
  [3_600_000, '1h'],
  [5_400_000, '1h30m'],
  [3_605_000, '1h5s'],
  [90_061_000, '25h1m1s'],
] as const)('%f ms are written %s', ([milliseconds, text]) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

test('whole seconds read as they were written', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000_000 }), (seconds) => {
      expect(parseDuration(formatDuration(seconds * 1000))).toBe(seconds * 1000);
    }),
  );
});

const AT = Date.UTC(2026, 10, 20, 10, 0, 0, 123);

test('Kubernetes times are whole seconds, money is counted in milliseconds', () => {
  expect(formatTime(AT)).toBe('2026-11-20T10:00:00Z');
  expect(formatExactTime(AT)).toBe('2026-11-20T10:00:00.123Z');
});

test('a time reads as it was written', () => {
  expect(parseTime(formatExactTime(AT))).toBe(AT);
  expect(parseTime('2026-11-20T11:00:00+01:00')).toBe(AT - 123);
});

test.for([undefined, '', 'yesterday'])('%s is no time', (text) => {
  expect(parseTime(text)).toBeUndefined();
});

test('times are written as metav1 writes them', () => {
  const at = Date.UTC(2026, 10, 20, 10, 0, 0, 123);
  expect(formatTime(at)).toBe('2026-11-20T10:00:00Z');
  expect(formatMicroTime(at)).toBe('2026-11-20T10:00:00.123000Z');
});

test('an HTTP date is read as JavaScript’s own Date reads it', () => {
  const whole = fc.date({ min: new Date(0), max: new Date('2999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(whole, (date) => {
      const seconds = Math.floor(date.getTime() / 1000) * 1000;
      expect(parseHttpDate(new Date(seconds).toUTCString())).toBe(seconds);
    }),
  );
});

test.each([undefined, '', 'soon', '2023-11-14', 'Tue, 14 Nux 2023 22:13:20 GMT'])('%s is none', (text) => {
  expect(parseHttpDate(text)).toBeUndefined();
});
