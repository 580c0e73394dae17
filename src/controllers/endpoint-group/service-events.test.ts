import { describe, expect, test } from 'vitest';
import { worker } from '../../../test/builders/observed-group.ts';
import type { EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { outageOfWorkers, refusalEvents, serviceEvents } from './service-events.ts';

/* P3: a group reports each lost service once, and its return once. */

const NOW = Date.parse('2026-11-20T12:01:13Z');
const SINCE = '2026-11-20T12:00:00Z';
const OUTAGE = { reason: 'Unreachable', since: SINCE, httpStatus: 503 };

const withCondition = (
  type: string,
  status: 'True' | 'False' | 'Unknown',
  everReady = true,
): EndpointGroupStatus => ({
  ...{ everReady },
  conditions: [
    { type, status, reason: 'LoadUnavailable', message: 'No figures.', lastTransitionTime: SINCE },
  ],
});
const notes = (before: EndpointGroupStatus | undefined, now: EndpointGroupStatus) =>
  serviceEvents(before, now, NOW).map(({ type, reason, note }) => `${type} ${reason}: ${note}`);

describe('P3: a group', () => {
  test.each(['MetricsAvailable', 'GatewayConnected', 'EndpointsPublished'])(
    'reports the loss and the return of %s once each',
    (type) => {
      const well = withCondition(type, 'True');
      const lost = withCondition(type, 'False');
      expect(notes(well, lost)).toEqual(['Warning LoadUnavailable: No figures.']);
      expect(notes(lost, lost)).toEqual([]);
      expect(notes(lost, well)).toEqual([
        expect.stringMatching(/^Normal ServiceRestored: .* again after 73s\. Cause: No figures\.$/),
      ]);
      expect(notes(well, well)).toEqual([]);
    },
  );

  test('reports no loss before its first worker was ready', () => {
    const first = withCondition('MetricsAvailable', 'False', false);
    expect(notes(undefined, first)).toEqual([]);
    expect(notes(first, withCondition('MetricsAvailable', 'True'))).toEqual([]);
  });

  test('reports the outage of its workers and its end', () => {
    expect(notes({}, { outage: OUTAGE })).toEqual([
      'Warning Unreachable: Marketplace returned HTTP 503 for 73s; retrying. Workers of the group are affected.',
    ]);
    expect(notes({ outage: OUTAGE }, { outage: OUTAGE })).toEqual([]);
    expect(notes({ outage: OUTAGE }, {})).toEqual([
      'Normal ServiceRestored: Service restored after 73s. Cause: Marketplace returned HTTP 503.',
    ]);
  });
});

test('P3: reports the first refused write once, and the end of refusals once', () => {
  const refused = [{ action: 'create 0', detail: 'Cannot create a worker: quota' }];
  const reasons = (before: typeof refused, now: typeof refused) =>
    refusalEvents(before, now).map(({ type, reason }) => `${type} ${reason}`);
  expect(reasons([], refused)).toEqual(['Warning NotPermitted']);
  expect(reasons(refused, refused)).toEqual([]);
  expect(reasons(refused, [])).toEqual(['Normal ServiceRestored']);
});

test('P3: reports the outage of a worker only when the worker is hot and does not serve', () => {
  const waiting = (name: string, change: Parameters<typeof worker>[1] = {}) => {
    const plain = worker(name);
    const object = { ...plain.object, status: { ...plain.object.status, outage: OUTAGE } };
    return worker(name, { object, desiredRole: 'Hot', isServing: false, ...change });
  };
  expect(outageOfWorkers([waiting('a')])).toEqual(OUTAGE);
  expect(
    outageOfWorkers([waiting('a', { isServing: true }), waiting('b', { desiredRole: 'Cold' })]),
  ).toBeUndefined();
});
