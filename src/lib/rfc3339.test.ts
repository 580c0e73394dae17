import { expect, test } from 'vitest';
import { formatExactTime, formatTime, parseTime } from './rfc3339.ts';

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
