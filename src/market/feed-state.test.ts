import { describe, expect, test } from 'vitest';
import { instanceRow, toInstance } from '../markets/vast/instances/instance.ts';
import { toMachineRow } from '../markets/vast/machine-row.ts';
import { MarketplaceError } from './errors.ts';
import { type FeedEvent, FeedState } from './feed-state.ts';
import type { MachineRow } from './machine.ts';

const machine = (status: string): MachineRow =>
  toMachineRow(toInstance(instanceRow.parse({ id: 1, actual_status: status })));
const refused = new MarketplaceError('told to fail', { kind: 'unavailable', outcome: 'refused' });

/** Returns a feed with machine 1 loading, in a list begun at 0. */
function seenLoading() {
  const events: FeedEvent[] = [];
  const state = new FeedState((event) => events.push(event));
  state.complete([machine('loading')], 0, 10);
  events.length = 0;
  return { state, events, status: () => state.latest?.rows.get('1')?.state };
}

describe('a machine that was seen by itself while a list was being read', () => {
  test('is as it was seen, where the list had begun before', () => {
    const { state, status, events } = seenLoading();
    state.patch([machine('running')], 50);
    state.complete([machine('loading')], 40, 60);
    expect(status()).toBe('running');
    expect(events.map(({ type }) => type)).toEqual(['row', 'list']);
  });

  test('is as it was seen, where both began at the same moment', () => {
    const { state, status } = seenLoading();
    state.patch([machine('running')], 50);
    state.complete([machine('loading')], 50, 60);
    expect(status()).toBe('running');
  });

  test('is as the list says, where that began later', () => {
    const { state, status } = seenLoading();
    state.patch([machine('running')], 50);
    state.complete([machine('exited')], 51, 60);
    expect(status()).toBe('exited');
  });

  test('is as a later list says, although that list began before it was seen', () => {
    const { state, status } = seenLoading();
    state.patch([machine('running')], 50);
    state.complete([machine('loading')], 40, 60);
    state.complete([machine('exited')], 45, 70);
    expect(status()).toBe('exited');
  });

  test('is gone where the list does not name it, whatever was seen', () => {
    const { state, status } = seenLoading();
    state.patch([machine('running')], 50);
    state.complete([], 40, 60);
    expect(status()).toBeUndefined();
    expect(state.history.absences('1')).toEqual([40]);
  });

  test('makes no list where there was none before', () => {
    const events: FeedEvent[] = [];
    const state = new FeedState((event) => events.push(event));
    state.patch([machine('running')], 50);
    expect([state.latest, events]).toEqual([undefined, []]);
  });

  test('emits no event when nothing changed', () => {
    const { state, events } = seenLoading();
    const before = state.latest;
    state.patch([machine('loading')], 50);
    expect(events).toEqual([]);
    expect(state.latest).toBe(before);
  });
});

test('emits changes before the list that ends the poll', () => {
  const { state, events } = seenLoading();
  state.complete([machine('running')], 20, 30);
  expect(events.map(({ type }) => type)).toEqual(['row', 'list']);
});

test('failures are counted until a list is complete, and change nothing that was seen', () => {
  const { state, status, events } = seenLoading();
  state.failed(refused, 5);
  state.failed(refused, 15);
  expect(state.health).toMatchObject({ state: 'failing', consecutiveFailures: 2, lastError: refused });
  expect(state.health.failingSince).toBe(5);
  expect(events).toEqual([
    { type: 'failed', error: refused },
    { type: 'failed', error: refused },
  ]);
  expect(status()).toBe('loading');
  expect(state.history.absences('1')).toEqual([]);
  state.complete([machine('loading')], 20, 30);
  expect(state.health).toMatchObject({ state: 'healthy', consecutiveFailures: 0, lastError: undefined });
});
