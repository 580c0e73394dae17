import { describe, expect, test } from 'vitest';
import { NOW } from '../../../../test/builders/observed-group.ts';
import type { GatewayGroupReport } from '../../../api/gateway-report.ts';
import {
  gatewayHeld,
  gatewayInFlight,
  gatewayWorkers,
  livePickers,
  NO_PICKERS,
  type PickerArrivals,
  type PickersState,
  withPickerReport,
} from './pickers.ts';

const SECOND = 1000;
type Figures = Partial<GatewayGroupReport>;

const report = (figures: Figures = {}): GatewayGroupReport => ({
  ...{ namespace: 'team', name: 'llm', arrivedWork: 0, overestimatedWork: 0, refusedWork: 0 },
  ...{ heldRequests: 0, heldWork: 0, workers: [] },
  ...figures,
});

interface Sent extends Figures {
  readonly by?: string;
  /** Seconds after NOW. */
  readonly s?: number;
  readonly first?: boolean;
}

/** Returns the contribution of each report, and the state after them. */
function taken(...sent: readonly Sent[]): {
  readonly pickers: PickersState;
  readonly added: readonly PickerArrivals[];
} {
  let pickers = NO_PICKERS;
  const added = sent.map(({ by = 'a', s = 0, first = false, ...figures }) => {
    const given = { picker: by, isFirst: first, report: report(figures), at: NOW + s * SECOND };
    const arrivals = withPickerReport(pickers, given);
    pickers = arrivals.pickers;
    return arrivals;
  });
  return { pickers, added };
}
const amounts = (...sent: readonly Sent[]) => taken(...sent).added.map(({ amount }) => amount);
const busy = (requests: number, work = requests) => [{ name: 'w', requests, work }];

describe('arrived work', () => {
  test.each<[string, readonly Sent[], readonly number[]]>([
    ['is the whole counter of a picker that counts from 0', [{ first: true, arrivedWork: 500 }], [500]],
    ['is 0 for a picker that may have counted it long ago', [{ arrivedWork: 500 }], [0]],
    [
      'is the rise of the counter, even if the response to the first report was lost',
      [
        { first: true, arrivedWork: 500 },
        { s: 1, first: true, arrivedWork: 520 },
      ],
      [500, 20],
    ],
    [
      'is separate for each picker',
      [
        { arrivedWork: 100 },
        { by: 'b', arrivedWork: 900 },
        { s: 1, arrivedWork: 110 },
        { by: 'b', s: 1, arrivedWork: 905 },
      ],
      [0, 0, 10, 5],
    ],
    ['continues after a silence', [{ arrivedWork: 100 }, { s: 300, arrivedWork: 130 }], [0, 30]],
    [
      'is 0 for a report out of order',
      [{ arrivedWork: 100 }, { s: 1, arrivedWork: 90 }, { s: 2, arrivedWork: 95 }],
      [0, 0, 5],
    ],
    [
      'is 0 when only the overestimate fell',
      [
        { arrivedWork: 100, overestimatedWork: 50 },
        { s: 1, arrivedWork: 130, overestimatedWork: 40 },
      ],
      [0, 0],
    ],
    [
      'is the whole counter of a new process with the same name that reports it',
      [{ arrivedWork: 100 }, { s: 1, first: true, arrivedWork: 40 }],
      [0, 40],
    ],
    [
      'excludes overestimates and is never below 0',
      [
        { first: true, arrivedWork: 1000 },
        { s: 1, arrivedWork: 1000, overestimatedWork: 700 },
        { s: 2, arrivedWork: 1500, overestimatedWork: 700 },
        { s: 3, arrivedWork: 2500, overestimatedWork: 700 },
      ],
      [1000, 0, 0, 800],
    ],
    [
      'ignores overestimates from before counting began',
      [
        { arrivedWork: 9000, heldWork: 100, workers: busy(3, 600) },
        { s: 1, arrivedWork: 9050, overestimatedWork: 650, workers: [] },
        { s: 2, arrivedWork: 9250, overestimatedWork: 750, workers: [] },
      ],
      [0, 50, 150],
    ],
  ])('%s', (_, sent, expected) => {
    expect(amounts(...sent)).toEqual(expected);
  });

  test('adds up to the finished work for any estimate', () => {
    const rows = Array.from({ length: 60 }, (_, s) => ({
      ...{ s, first: s === 0 },
      arrivedWork: (s + 1) * 1000,
      overestimatedWork: Math.max(0, s - 9) * 800,
    }));
    // All requests that arrived before the last ten seconds have ended, with 200 units each.
    const sum = amounts(...rows).reduce((total, amount) => total + amount, 0);
    expect(sum).toBe(60 * 1000 - 50 * 800);
  });

  test('has the span since the report before, and none for a base', () => {
    const { added } = taken({ arrivedWork: 1 }, { s: 5, arrivedWork: 2 }, { s: 5, arrivedWork: 3 }, { s: 6 });
    expect(added.map(({ spanMs }) => spanMs)).toEqual([undefined, 5000, 1, undefined]);
  });
});

test.each<[string, Sent, boolean]>([
  ['a waiting request', { heldRequests: 1 }, true],
  ['a running request', { workers: busy(1, 0) }, true],
  ['running work', { workers: busy(0, 1) }, true],
  ['refused work', { first: true, arrivedWork: 3, refusedWork: 3 }, true],
  ['nothing', { arrivedWork: 3, refusedWork: 3 }, false],
])('active state of a gateway with %s', (_, sent, isActive) => {
  expect(taken(sent).added[0]?.isActive).toBe(isActive);
});

describe('silent pickers', () => {
  const { pickers } = taken(
    { heldRequests: 2, heldWork: 20, workers: [{ name: 'w', requests: 3, work: 30, perf: 5 }] },
    {
      by: 'b',
      s: 14,
      heldRequests: 1,
      heldWork: 10,
      workers: [{ name: 'w', requests: 1, work: 9, perf: 4 }],
    },
  );
  const at = (s: number) => NOW + s * SECOND;

  test('count for 15 s, with their waiting requests and those in workers', () => {
    expect(livePickers(pickers, at(14.999))).toHaveLength(2);
    expect(gatewayHeld(pickers, at(14.999))).toEqual({ requests: 3, work: 30 });
    expect([...gatewayWorkers(pickers, at(14.999))]).toEqual([['w', { requests: 4, work: 39, perf: 5 }]]);
    expect(livePickers(pickers, at(15))).toHaveLength(1);
    expect(gatewayHeld(pickers, at(15))).toEqual({ requests: 1, work: 10 });
    expect([...gatewayWorkers(pickers, at(15))]).toEqual([['w', { requests: 1, work: 9, perf: 4 }]]);
    expect(gatewayHeld(pickers, at(29))).toEqual({ requests: 0, work: 0 });
  });

  test('are left out by name', () => {
    expect([...gatewayWorkers(pickers, at(14), 'a')]).toEqual([['w', { requests: 1, work: 9, perf: 4 }]]);
    expect([...gatewayWorkers(pickers, at(15), 'b')]).toEqual([]);
  });

  test('may have requests in a worker for ten minutes', () => {
    const later = (s: number) => {
      const sent = Array.from({ length: s / 5 }, (_, index) => ({ by: 'b', s: 14 + (index + 1) * 5 }));
      return taken({ workers: busy(3) }, { by: 'b', s: 14 }, ...sent).pickers;
    };
    expect(gatewayInFlight(later(580), 'w', at(594))).toEqual({ count: 3, at: at(594) });
    expect(gatewayInFlight(later(590), 'w', at(604))).toEqual({ count: 0, at: at(604) });
    // Nothing was reported in between.
    const { pickers: first } = taken({ workers: busy(3) }, { by: 'b', s: 14 });
    expect(first.byName.size).toBe(2);
    expect(
      withPickerReport(first, { picker: 'b', isFirst: false, report: report(), at: at(600) }).pickers.byName
        .size,
    ).toBe(1);
    expect(
      withPickerReport(first, { picker: 'b', isFirst: false, report: report(), at: at(599) }).pickers.byName
        .size,
    ).toBe(2);
  });

  test('are forgotten in the order of their last reports when there are too many', () => {
    const names = Array.from({ length: 200 }, (_, index) => ({ by: `n${index}`, s: index }));
    const known = [...taken(...names).pickers.byName.keys()];
    expect([known.length, known[0], known.at(-1)]).toEqual([128, 'n72', 'n199']);
  });
});

describe('requests in a worker', () => {
  const at = (s: number) => NOW + s * SECOND;
  const both = taken(
    { workers: busy(2) },
    { by: 'b', workers: busy(1) },
    { by: 'b', s: 10, workers: [] },
    { s: 12, workers: busy(1) },
    { by: 'b', s: 20, workers: [] },
  ).pickers;

  test('are unknown until every picker had time to report', () => {
    expect(gatewayInFlight(NO_PICKERS, 'w', at(0))).toBeUndefined();
    expect(gatewayInFlight(both, 'w', at(14.999))).toBeUndefined();
    expect(gatewayInFlight(both, 'w', at(20))).toEqual({ count: 1, at: at(12) });
  });

  test('are 0 for a worker that no picker reports', () => {
    expect(gatewayInFlight(both, 'other', at(20))).toEqual({ count: 0, at: at(12) });
  });

  test('are unknown while all pickers are silent, and for a while after the first returns', () => {
    expect(gatewayInFlight(both, 'w', at(35))).toBeUndefined();
    const back = withPickerReport(both, { picker: 'c', isFirst: true, report: report(), at: at(40) }).pickers;
    expect(gatewayInFlight(back, 'w', at(41))).toBeUndefined();
    expect(back.since).toBe(at(40));
  });
});
