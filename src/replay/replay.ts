import type { EndpointGroupSpec } from '../api/v1alpha1/endpoint-group.ts';
import {
  autoscale,
  type Choice,
  chooseWorkers,
  defaultTimes,
  EMPTY_HISTORY,
  type LoadHistory,
  mostExpensiveOffer,
  rolledTo,
  type ScalingDecision,
  type ScalingInput,
  type ScalingMemory,
  type ScalingWorker,
  scalingOptions,
  withArrivals,
} from '../controllers/endpoint-group/public.ts';
import { type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseDuration } from '../lib/time.ts';
import type { Outcome, Tick } from '../views/replay.ts';
import { choosableWorkers, type Deadlines, deadlinesOf, ordered, perfOfNew } from './autoscaler-adapter.ts';
import {
  type FirstWorker,
  isCalm,
  NOTHING_YET,
  passed,
  readyWorkers,
  type WorkerModel,
  waitingWork,
} from './fleet.ts';
import { type Counted, dollarsOf, queueSecondsOf, rounded, summaryOf } from './outcome.ts';
import { isSteadyBetween, offeredBetween, type Trace } from './trace.ts';

/** Scaling policy: the rules of the operator, or others for comparison. */
export type Policy = (
  input: ScalingInput,
) => Pick<ScalingDecision, 'hot' | 'total' | 'hotCapacity' | 'memory'>;

export interface WhatIf {
  readonly spec: EndpointGroupSpec;
  readonly trace: Trace;
  /** Models of workers in order of rental; the last one repeats. */
  readonly models: readonly [WorkerModel, ...WorkerModel[]];
  /** Workers at the beginning. */
  readonly first: readonly FirstWorker[];
  readonly policy?: Policy;
}

const TICK_SECONDS = defaultTimes.tickMs / 1000;
/** Step of the simulated work between two decisions. */
const STEP_SECONDS = 1;
/** Start time of a replay; large enough that a window of one hour never begins below zero. */
const BEGIN = 10 * defaultTimes.longMs;

/**
 * Yields the ticks of a replay: an offered load with simulated queues, boots and starts, scaled by the operator's
 * rules. A group with workers begins with the load of the first row and a newly started operator; a group without
 * workers begins without a history. Pure: equal inputs give equal results.
 */
export function* replayTicks(whatIf: WhatIf): Generator<Tick, Outcome> {
  const plan = planOf(whatIf);
  const [{ seconds: from }] = whatIf.trace.points;
  const end = whatIf.trace.points.at(-1)?.seconds ?? from;
  const count = Math.floor((end - from) / TICK_SECONDS) + 1;
  const ticks: Tick[] = [];
  let state = beginning(whatIf, plan);
  for (let index = 0; index < count; index += 1) {
    const { tick, next } = oneTick(state, plan, from + index * TICK_SECONDS);
    ticks.push(tick);
    state = next;
    yield tick;
  }
  return { ticks, summary: summaryOf(ticks, count * TICK_SECONDS, state) };
}

/** Values that stay the same from tick to tick. */
interface Plan {
  readonly whatIf: WhatIf;
  readonly options: ScalingInput['options'];
  readonly deadlines: Deadlines;
  readonly drainSeconds: number;
  readonly ceiling: MicroDollars | undefined;
  readonly priceOfNew: MicroDollars;
  readonly policy: Policy;
}

interface State extends Counted {
  readonly history: LoadHistory;
  readonly memory: ScalingMemory;
  readonly lastActivity: number;
  readonly wasEverReady: boolean;
}

function planOf(whatIf: WhatIf): Plan {
  const { spec, models, policy = autoscale } = whatIf;
  const ceiling = parseDollars(spec.maxSpendPerHour);
  const maxPrice = Math.max(...models.map(({ pricePerHour }) => pricePerHour));
  return {
    ...{ whatIf, ceiling, policy },
    options: scalingOptions(spec),
    deadlines: deadlinesOf(spec),
    drainSeconds: (parseDuration(spec.drainTimeout) ?? 0) / 1000,
    priceOfNew: mostExpensiveOffer(spec) ?? maxPrice,
  };
}

/** Returns the initial state. Hot workers contain the waiting work up to their limit; the rest is in the front queue. */
function beginning({ first, trace }: WhatIf, { options }: Plan): State {
  const hot = first.filter(({ desired }) => desired === 'Hot');
  const perf = hot.reduce((sum, { model }) => sum + model.perf, 0);
  const { queue = 0 } = trace.start;
  const accepted = Math.min(queue, perf * options.maxQueueSeconds);
  const workers = first.map(({ model, desired }, index) => ({
    ...{ model, desired },
    name: `worker-${index}`,
    readyAt: desired === 'Hot' ? BEGIN : undefined,
    startedAt: BEGIN,
    isWoken: false,
    wasEverReady: true,
    drainSince: undefined,
    queue: desired === 'Hot' ? (accepted * model.perf) / perf : 0,
  }));
  const front = queue > accepted ? [{ at: BEGIN, amount: queue - accepted }] : [];
  return {
    fleet: { workers, front, created: first.length, totals: NOTHING_YET },
    now: BEGIN,
    rented: 0,
    woken: 0,
    peakTotal: 0,
    history: first.length > 0 ? hadLoad(trace.points[0].load) : EMPTY_HISTORY,
    memory: { recent: [], panicUntil: hot.length > 0 ? BEGIN + defaultTimes.panicMs : 0, hot: hot.length },
    lastActivity: BEGIN,
    wasEverReady: first.length > 0,
  };
}

function hadLoad(load: number): LoadHistory {
  const arrivals = { at: BEGIN, spanMs: defaultTimes.shortMs, amount: (load * defaultTimes.shortMs) / 1000 };
  return rolledTo(withArrivals(EMPTY_HISTORY, arrivals), BEGIN);
}

function oneTick(state: State, plan: Plan, seconds: number): { readonly tick: Tick; readonly next: State } {
  const decided = decideAt(state, plan);
  const { fleet } = decided.next;
  const amount = offeredBetween(plan.whatIf.trace.points, seconds, seconds + TICK_SECONDS);
  const next = worked(decided.next, plan, seconds);
  const count = (role: 'Hot' | 'Cold') => fleet.workers.filter(({ desired }) => desired === role).length;
  const tick = {
    seconds,
    load: rounded(amount / TICK_SECONDS),
    hot: count('Hot'),
    cold: count('Cold'),
    ready: readyWorkers(fleet, state.now).length,
    desiredHot: decided.hot,
    desiredTotal: decided.total,
    queueSeconds: queueSecondsOf(next.fleet, next.now),
    rejected: rounded(next.fleet.totals.rejected - fleet.totals.rejected),
    dollars: dollarsOf(next.fleet.totals),
  };
  return { tick, next };
}

interface Decided {
  readonly next: State;
  readonly hot: number;
  readonly total: number;
}

function decideAt(state: State, plan: Plan): Decided {
  const { fleet, now } = state;
  const perf = perfOfNew(fleet, plan.whatIf.spec);
  const workers = choosableWorkers(fleet, { now, perf, deadlines: plan.deadlines });
  const decision = plan.policy(scalingInput(state, plan, { workers, perf }));
  const { changes } = choiceOf(workers, plan, decision);
  const after = ordered(fleet, changes, { now, modelOf: (created) => modelAt(plan.whatIf, created) });
  const count = (type: 'rent' | 'wake') => changes.filter((change) => change.type === type).length;
  return {
    hot: decision.hot,
    total: decision.total,
    next: {
      ...state,
      fleet: after,
      memory: decision.memory,
      rented: state.rented + count('rent'),
      woken: state.woken + count('wake'),
      peakTotal: Math.max(state.peakTotal, after.workers.length),
    },
  };
}

/** Returns the input of the autoscaler. In a replay every figure arrives, and in time. */
function scalingInput(
  state: State,
  { whatIf, options, deadlines }: Plan,
  { workers, perf }: Pick<ScalingInput, 'perf'> & { readonly workers: readonly ScalingWorker[] },
): ScalingInput {
  const { fleet, now, history, memory, lastActivity, wasEverReady } = state;
  return {
    ...{ now, options, history, memory, lastActivity, workers, perf },
    waiting: waitingWork(fleet),
    metrics: 'available',
    wakeAsked: false,
    mayReachZero: wasEverReady || (now > BEGIN + deadlines.bootMs && !workers.some(isComing)),
    replicas: whatIf.spec.replicas,
    times: defaultTimes,
  };
}

function isComing({ role, isReady, isOverdue }: ScalingWorker): boolean {
  return role === 'hot' && !isReady && !isOverdue;
}

function choiceOf(
  workers: readonly ScalingWorker[],
  { whatIf, ceiling, priceOfNew }: Plan,
  { hot, total, hotCapacity }: Pick<ScalingDecision, 'hot' | 'total' | 'hotCapacity'>,
): Choice {
  const { maxWorkers, pause } = whatIf.spec;
  return chooseWorkers({
    ...{ workers, hot, total, hotCapacity, maxWorkers, ceiling, priceOfNew, pause },
    maxUnavailable: undefined,
  });
}

function modelAt({ models, first }: WhatIf, created: number): WorkerModel {
  return models[Math.min(created - first.length, models.length - 1)] ?? models[0];
}

/** Simulates the work of one tick, and records its arrivals in the history. */
function worked(state: State, plan: Plan, seconds: number): State {
  const { points } = plan.whatIf.trace;
  const { drainSeconds } = plan;
  const length = stepSeconds(state, plan, seconds);
  let { fleet, now } = state;
  for (let step = 0; step < TICK_SECONDS; step += length) {
    const offered = offeredBetween(points, seconds + step, seconds + step + length);
    fleet = passed(fleet, { ...plan.options, drainSeconds, from: now, seconds: length, offered });
    now += length * 1000;
  }
  const amount = fleet.totals.offered - state.fleet.totals.offered;
  const arrivals = { at: now, spanMs: defaultTimes.tickMs, amount };
  const isActive = amount > 0 || waitingWork(fleet) > 0;
  return {
    ...state,
    ...{ fleet, now },
    history: rolledTo(withArrivals(state.history, arrivals), now),
    lastActivity: isActive ? now : state.lastActivity,
    wasEverReady: state.wasEverReady || fleet.workers.some((worker) => worker.wasEverReady),
  };
}

/** Returns the length of a step: fine if queues or workers change within the tick. */
function stepSeconds({ fleet, now }: State, { whatIf, options }: Plan, from: number): number {
  const { points } = whatIf.trace;
  const to = from + TICK_SECONDS;
  const offered = offeredBetween(points, from, to);
  const isEven = isSteadyBetween(points, from, to);
  return isEven && isCalm(fleet, { ...options, from: now, seconds: TICK_SECONDS, offered })
    ? TICK_SECONDS
    : STEP_SECONDS;
}
