import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { AccountAvoidList } from './account-avoid-list.ts';
import type { AvoidEntry } from './avoid-list.ts';

const HOUR = 3_600_000;
const host = { type: 'host', id: 1 } as const;
const offer = { type: 'offer', id: 9 } as const;

function list(entries: readonly AvoidEntry[] = []) {
  const clock = createVirtualClock({ startMs: 0 });
  let changes = 0;
  const avoid = new AccountAvoidList(clock, entries, () => {
    changes += 1;
  });
  return { avoid, clock, changes: () => changes };
}

const entry = (until: number, reason = 'Exited'): AvoidEntry => ({
  target: host,
  until,
  failures: 1,
  reason,
});

describe('the avoid list of an account and its status', () => {
  test('a failure counts at once and asks for a write; an offer asks for none', () => {
    const { avoid, changes } = list();
    avoid.add(offer, 'OfferGone');
    avoid.add(host, 'Exited');
    expect(avoid.current()).toMatchObject({ offers: new Set([9]), hosts: new Set([1]) });
    expect(avoid.durable()).toEqual([entry(24 * HOUR)]);
    expect(changes()).toBe(1);
  });

  test('a failure that no status shows yet outlives a status without it', () => {
    const { avoid } = list();
    avoid.add(host, 'Exited');
    avoid.follow([]);
    expect(avoid.durable()).toEqual([entry(24 * HOUR)]);
  });

  test('what a person added to the status is avoided', () => {
    const { avoid } = list();
    avoid.follow([entry(5 * HOUR, 'Requested')]);
    expect(avoid.current().hosts).toEqual(new Set([1]));
    expect(avoid.durable()).toEqual([entry(5 * HOUR, 'Requested')]);
  });

  test('what a person took out of the status is rented again', () => {
    const { avoid } = list();
    avoid.add(host, 'Exited');
    avoid.follow([entry(24 * HOUR)]);
    avoid.follow([]);
    expect(avoid.durable()).toEqual([]);
  });

  test('an entry that the process began with can be taken out as well', () => {
    const { avoid } = list([entry(5 * HOUR)]);
    avoid.follow([]);
    expect(avoid.current().hosts).toEqual(new Set());
  });

  test('a failure during a longer ban does not shorten it', () => {
    const { avoid } = list([entry(90 * HOUR, 'Requested')]);
    avoid.add(host, 'Exited');
    avoid.follow([entry(90 * HOUR, 'Requested')]);
    expect(avoid.durable()).toEqual([entry(90 * HOUR, 'Requested')]);
  });

  test('offers stay whatever the status says', () => {
    const { avoid } = list();
    avoid.add(offer, 'OfferGone');
    avoid.follow([]);
    expect(avoid.current().offers).toEqual(new Set([9]));
  });
});
