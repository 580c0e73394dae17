import { expect, test } from 'vitest';
import { avoidSpanMs, withAvoided } from './avoidance.ts';

const HOUR = 3_600_000;
const NOW = Date.parse('2026-11-20T12:00:00Z');
const UNTIL = '2026-11-20T12:30:00Z';

test.each([
  ['offer', [10, 10, 10]],
  ['machine', [60, 120, 1440]],
  ['host', [1440, 2880, 10_080]],
] as const)('avoids a failed %s for %j minutes after 1, 2 and 100 failures', (type, minutes) => {
  expect([1, 2, 100].map((failures) => avoidSpanMs(type, failures) / 60_000)).toEqual(minutes);
});

test('avoids the machine of an object for an hour and its host for a day, whatever failed before', () => {
  const before = [{ kind: 'Machine' as const, id: '5', until: UNTIL }];
  expect(withAvoided(before, { type: 'machine', id: '5' }, NOW)).toEqual([
    { kind: 'Machine', id: '5', until: '2026-11-20T13:00:00Z' },
  ]);
  expect(withAvoided(before, { type: 'host', id: '5' }, NOW)).toEqual([
    ...before,
    { kind: 'Host', id: '5', until: '2026-11-21T12:00:00Z' },
  ]);
});

test('drops entries that are over, also when nothing is added', () => {
  const before = [{ kind: 'Machine' as const, id: '5', until: UNTIL }];
  expect(withAvoided(before, undefined, NOW)).toEqual(before);
  expect(withAvoided(before, { type: 'offer', id: '5' }, NOW)).toEqual(before);
  expect(withAvoided(before, undefined, NOW + HOUR)).toEqual([]);
  expect(withAvoided(undefined, undefined, NOW)).toEqual([]);
});

test('drops an entry in the moment in which it ends', () => {
  const before = [{ kind: 'Machine' as const, id: '5', until: UNTIL }];
  expect(withAvoided(before, undefined, Date.parse(UNTIL))).toEqual([]);
});

test('keeps another machine beside the one that failed', () => {
  const before = [{ kind: 'Machine' as const, id: '4', until: UNTIL }];
  expect(withAvoided(before, { type: 'machine', id: '5' }, NOW).map(({ id }) => id)).toEqual(['4', '5']);
});
