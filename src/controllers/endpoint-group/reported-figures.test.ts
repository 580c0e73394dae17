import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { groupObject } from '../../../test/builders/group-worker.ts';
import { calm, NOW, observedGroup, worker } from '../../../test/builders/observed-group.ts';
import { endpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { decide } from './decide.ts';
import { readPushed } from './load/push.ts';
import { EMPTY_LOAD, FigureError, type LoadState, withReport } from './load/state.ts';
import { defaultTimes } from './times.ts';

const extremes = [0, 1e-7, 1e-6, 0.5, 1, 1e12, 5e-324, Number.EPSILON, Number.MAX_VALUE];
const figure = fc.oneof(fc.constantFrom(...extremes), fc.double({ min: 0, max: 1e12, noNaN: true }));
const report = fc.record(
  { new_load: figure, rej_load: figure, cur_load: figure, max_perf: figure, num_requests_working: figure },
  { requiredKeys: [] },
);
const spanMs = fc.constantFrom(1, 100, 10_000, 3_600_000);

/** Returns the load state after a report; like the intake, it drops invalid figures. */
function accepted(loadState: LoadState, body: object, at: number): LoadState {
  try {
    const { record } = readPushed(body);
    return withReport(loadState, { reporter: 'uid-a/7', record, at, times: defaultTimes });
  } catch (error) {
    if (error instanceof FigureError) return loadState;
    throw error;
  }
}

test('writes a valid status for any reported figures', { tags: 'long' }, () => {
  fc.assert(
    fc.property(report, report, spanMs, (first, second, span) => {
      const loadState = accepted(accepted(EMPTY_LOAD, first, NOW - span), second, NOW);
      const group = groupObject({ minLoad: '0.001', minColdLoad: '999999999999', coldMultiplier: '100' });
      const { status } = decide(observedGroup({ group, workers: [worker('a')], loadState, memory: calm(1) }));
      const written: unknown = JSON.parse(JSON.stringify(status));
      expect(endpointGroupStatus.safeParse(written).error).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});
