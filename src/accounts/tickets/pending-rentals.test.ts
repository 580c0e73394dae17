import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { PendingRentals, TICKET_MS } from './pending-rentals.ts';

test('an object that never comes back with its ticket keeps the others busy no longer than that is valid', async () => {
  const clock = createVirtualClock();
  const rentals = new PendingRentals(clock);
  rentals.begin(1, 'a', 500_000);
  expect(rentals.isBusyFor('b')).toBe(true);
  await clock.advance(TICKET_MS);
  expect(rentals.isBusyFor('b')).toBe(false);
});
