import { describe, expect, test } from 'vitest';
import { figuresOf, figuresToWrite } from './status.ts';

const DOLLAR = 1_000_000;
const HOUR = 3_600_000;

describe('credit and how long it lasts', () => {
  test.each([
    [100 * DOLLAR, 2 * DOLLAR, { credit: '100.00', pricePerHour: '2.00', runway: '50h' }],
    [100 * DOLLAR, 0, { credit: '100.00', pricePerHour: '0.00' }],
    [DOLLAR, 3 * DOLLAR, { credit: '1.00', pricePerHour: '3.00', runway: '0s' }],
    [-DOLLAR, DOLLAR, { credit: '0.00', pricePerHour: '1.00', runway: '0s' }],
    [undefined, DOLLAR, { pricePerHour: '1.00' }],
    [1_000_000 * DOLLAR, 1, { credit: '1000000.00', pricePerHour: '0.000001', runway: '87600h' }],
  ])('%s of credit at %s an hour', (credit, pricePerHour, expected) => {
    expect(figuresOf({ credit, pricePerHour })).toEqual(expected);
  });
});

describe('when they are written', () => {
  const before = { credit: '100.00', pricePerHour: '1.00' };
  const now = (credit: string, pricePerHour = '1.00') => ({ credit, pricePerHour });

  test.each([
    ['the first ones at once', {}, now('100.00'), false, 0, 'new'],
    ['less than a tenth never', before, now('91.00'), false, 9 * HOUR, 'old'],
    ['a tenth after an hour', before, now('90.00'), false, HOUR, 'new'],
    ['a tenth within the hour not yet', before, now('90.00'), false, HOUR - 1, 'old'],
    ['a price that moved by a tenth', before, now('100.00', '1.10'), false, HOUR, 'new'],
    ['credit that may not be read any more', before, { pricePerHour: '1.00' }, false, HOUR, 'new'],
    ['a price that was not known', { credit: '100.00' }, now('100.00'), false, HOUR, 'new'],
    ['nothing where nothing moves', now('0.00', '0.00'), now('0.00', '0.00'), false, HOUR, 'old'],
    ['any, when the status is written anyway', before, now('99.99'), true, 0, 'new'],
    [
      'credit that came from nothing',
      { credit: '0.00', pricePerHour: '0.00' },
      now('5.00', '0.00'),
      false,
      HOUR,
      'new',
    ],
  ] as const)('%s', (_, standing, figures, isWrittenAnyway, sinceLastWriteMs, expected) => {
    const written = figuresToWrite({ before: standing, now: figures, isWrittenAnyway, sinceLastWriteMs });
    expect(written).toBe(expected === 'new' ? figures : standing);
  });
});
