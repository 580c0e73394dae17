import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseHttpDate } from './http-date.ts';

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
