import {
  EMPTY_LOAD,
  type LoadRecord,
  type LoadState,
  withReport,
} from '../../src/controllers/endpoint-group/load/state.ts';
import { defaultTimes } from '../../src/controllers/endpoint-group/times.ts';
import type { MemoryFields, Observed } from '../../src/controllers/endpoint-group/types.ts';
import { templateHash } from '../../src/controllers/endpoint-group/workers/template.ts';
import type { Worker } from '../../src/controllers/endpoint-group/workers/worker.ts';
import { groupObject, groupWorker } from './group-worker.ts';

/** When groups are decided about. */
export const NOW = Date.parse('2026-11-20T12:00:00Z');
const SECOND = 1000;

/** What a pass sees of a group of no workers and no load, but for these. */
export function observedGroup(overrides: Partial<Observed> = {}): Observed {
  return {
    now: NOW,
    beganAt: NOW,
    group: groupObject(),
    workers: [],
    orphans: [],
    takenNames: new Set(),
    loadState: EMPTY_LOAD,
    source: 'workers',
    times: defaultTimes,
    memory: undefined,
    isTick: true,
    hasLateFigures: false,
    wakeAsked: false,
    frozen: new Set(),
    published: { type: 'done' },
    identity: { problem: undefined, isDue: false },
    refused: [],
    // Other machines can be rented for workers of an old template.
    outlook: { inHand: { has: () => true } },
    allowPrivateAddresses: false,
    ...overrides,
  };
}

/** A hot worker that serves, made from the template that groups have. */
export function worker(name: string, overrides: Partial<Worker> = {}): Worker {
  const hash = templateHash(groupObject());
  return groupWorker({ name, reporter: `uid-${name}/7`, templateHash: hash, ...overrides });
}

export function record(overrides: Partial<LoadRecord> = {}): LoadRecord {
  return {
    arrived: { type: 'amount', newLoad: 0, rejectedLoad: 0 },
    currentLoad: 0,
    waitingLoad: undefined,
    maxPerf: 100,
    inFlight: 0,
    error: '',
    ...overrides,
  };
}

/** Reports of the last seconds from these workers, of this much work in ten of them. */
export function reports(
  names: readonly string[],
  amount = 0,
  overrides: Partial<LoadRecord> = {},
): LoadState {
  const times = defaultTimes;
  const arrived = { type: 'amount', newLoad: amount, rejectedLoad: 0 } as const;
  const reported = (before: LoadState, at: number, of: LoadRecord) =>
    names.reduce(
      (state, name) => withReport(state, { reporter: `uid-${name}/7`, record: of, at, times }),
      before,
    );
  const first = reported(EMPTY_LOAD, NOW - 10 * SECOND, record());
  return reported(first, NOW, record({ arrived, ...overrides }));
}

/** What a process remembers of a group that had this many hot workers and no burst. */
export function calm(hot: number, overrides: Partial<MemoryFields> = {}): MemoryFields {
  const scaling = { recent: [], panicUntil: 0, hot };
  return { scaling, decision: undefined, nextTickAt: 0, hotAtTick: hot, slowSince: undefined, ...overrides };
}
