import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WorkerRow } from '../tables/endpoint-groups.ts';
import { dropRequests, loadOf, queueSeconds, takeRequest, workUntil } from './worker.ts';

/** Returns a loaded worker of 10 units per second; callers set only relevant fields. */
function worker(change: Partial<WorkerRow> = {}): WorkerRow {
  return {
    id: 1,
    groupId: 1,
    endpointId: 1,
    createdAt: 0,
    token: 't',
    loadedAt: 0,
    perf: 10,
    taken: [],
    doneOnFirst: 0,
    workedUntil: 0,
    report: null,
    routedSinceReport: 0,
    ...change,
  };
}

const REPORT = { at: 0, curLoad: 5, newLoad: 0, requestsWorking: 1, errorMessage: '', url: null };

describe('the work of a simulated worker', () => {
  test('requests are worked off one after the other', () => {
    const busy = [30, 50].reduce((row, cost, index) => takeRequest(row, { index, cost }), worker());
    expect(queueSeconds(busy)).toBe(8);
    const later = workUntil(busy, 4000);
    expect({ load: loadOf(later), taken: later.taken.map(({ index }) => index) }).toEqual({
      load: 40,
      taken: [1],
    });
    expect(workUntil(later, 9000).taken).toEqual([]);
  });

  test('nothing is worked off before its model is loaded', () => {
    const loading = takeRequest(worker({ loadedAt: null }), { index: 1, cost: 30 });
    expect(loadOf(workUntil(loading, 60_000))).toBe(30);
  });

  test('a reporting worker has what it says, and what was routed to it since', () => {
    const reporting = takeRequest(worker({ report: REPORT }), { index: 1, cost: 30 });
    expect(loadOf(workUntil(reporting, 60_000))).toBe(35);
  });

  test('a finished request leaves without the work done on the others', () => {
    const busy = [30, 50].reduce((row, cost, index) => takeRequest(row, { index, cost }), worker());
    const started = workUntil(busy, 1000);
    expect(loadOf(dropRequests(started, new Set([1])))).toBe(20);
    expect(loadOf(dropRequests(started, new Set([0])))).toBe(50);
  });

  test('many looks see the same as one, and load never falls below zero', () => {
    const costs = fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 10 });
    const pauses = fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 10 });
    fc.assert(
      fc.property(costs, pauses, (all, steps) => {
        const busy = all.reduce((row, cost, index) => takeRequest(row, { index, cost }), worker());
        const many = steps.reduce((row, pause) => workUntil(row, row.workedUntil + pause), busy);
        const one = workUntil(busy, many.workedUntil);
        expect(loadOf(many)).toBeCloseTo(loadOf(one), 6);
        expect(loadOf(one)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
