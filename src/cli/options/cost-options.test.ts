import { expect, test } from 'vitest';
import { parseSince } from './cost-options.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');

test.each([
  ['7d', '2026-11-23T12:00:00Z'],
  ['12h', '2026-11-30T00:00:00Z'],
  ['1h30m', '2026-11-30T10:30:00Z'],
  ['2026-11-01', '2026-11-01T00:00:00Z'],
])('reads --since %s', (text, begin) => {
  expect(parseSince(text, NOW)).toBe(Date.parse(begin));
});

test.each(['yesterday', '-3d', '0d', '', '2026-11', 'last week', '7 d'])(
  'names both forms when --since is %j',
  (text) => {
    expect(() => parseSince(text, NOW)).toThrow(
      `--since: "${text}" is neither a duration such as 7d or 12h, nor a day such as 2026-11-01.`,
    );
  },
);

test.each([
  ['7', '"7" has no unit'],
  ['0h', '"0h" is not a time'],
  ['2026-02-30', 'no day of the calendar'],
  ['2027-01-01', 'in the future'],
])('refuses --since %s', (text, why) => {
  expect(() => parseSince(text, NOW)).toThrow(why);
});
