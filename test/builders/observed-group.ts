import {
  EMPTY_LOAD,
  type LoadRecord,
  type LoadState,
  withReport,
} from '../../src/controllers/endpoint-group/load/state.ts';
import { defaultTimes } from '../../src/controllers/endpoint-group/times.ts';
import type {
  MemoryFields,
  Observed,
  PassTimes,
  SeenAccount,
  SeenLoad,
  SeenPublication,
  SeenWorkers,
} from '../../src/controllers/endpoint-group/types.ts';
import { templateHash } from '../../src/controllers/endpoint-group/workers/template.ts';
import type { Worker } from '../../src/controllers/endpoint-group/workers/worker.ts';
import { groupObject, groupWorker } from './group-worker.ts';

/** When groups are decided about. */
export const NOW = Date.parse('2026-11-20T12:00:00Z');
const SECOND = 1000;

/** Parts of an observation that a test sets, by name. */
export interface GroupSituation
  extends Partial<Pick<Observed, 'group' | 'memory' | 'refused'>>,
    Partial<Omit<SeenWorkers, 'all'>>,
    Partial<Omit<SeenLoad, 'state'>>,
    Partial<Pick<SeenAccount, 'frozen' | 'market'>>,
    Partial<Pick<SeenPublication, 'identity' | 'gatewayUrl' | 'allowPrivateAddresses'>>,
    Partial<PassTimes> {
  readonly workers?: readonly Worker[];
  readonly loadState?: LoadState;
  readonly accountCap?: SeenAccount['cap'];
  readonly published?: SeenPublication['service'];
  readonly publishedFile?: SeenPublication['file'];
}

/** Returns an observation of a group without workers and load, with these changes. */
export function observedGroup(situation: GroupSituation = {}): Observed {
  const {
    workers = [],
    orphans = [],
    takenNames = new Set(),
    loadState = EMPTY_LOAD,
    source = 'workers',
    hasLateFigures = false,
    wakeAsked = false,
    frozen = new Set(),
    published = { type: 'done' },
    identity = { problem: undefined, isDue: false },
    allowPrivateAddresses = false,
    now = NOW,
    beganAt = NOW,
    isTick = true,
    times = defaultTimes,
  } = situation;
  // Other machines can be rented for workers of an old template.
  const outlook = 'outlook' in situation ? situation.outlook : { inHand: { has: () => true } };
  return {
    group: situation.group ?? groupObject(),
    workers: { all: workers, orphans, takenNames, outlook },
    load: { state: loadState, source, hasLateFigures, wakeAsked },
    account: { frozen, cap: situation.accountCap, market: situation.market },
    publication: {
      service: published,
      file: situation.publishedFile,
      gatewayUrl: situation.gatewayUrl,
      ...{ identity, allowPrivateAddresses },
    },
    clock: { now, beganAt, isTick, times },
    memory: situation.memory,
    refused: situation.refused ?? [],
  };
}

/** Returns a hot worker that serves, created from the default template of groups. */
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

/** Returns the memory of a group that had this many hot workers and no burst. */
export function calm(hot: number, overrides: Partial<MemoryFields> = {}): MemoryFields {
  const scaling = { recent: [], panicUntil: 0, hot };
  return { scaling, decision: undefined, nextTickAt: 0, hotAtTick: hot, slowSince: undefined, ...overrides };
}
