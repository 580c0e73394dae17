import type { MicroDollars } from '../lib/money.ts';
import {
  amountOf,
  type FrontQueue,
  joined,
  serve,
  spreadWork,
  takenFrom,
  withoutExpired,
} from './queueing.ts';

/** Capacity and cost of a simulated worker. */
export interface WorkerModel {
  /** Work per second. */
  readonly perf: number;
  readonly pricePerHour: MicroDollars;
  /** Price of the stopped worker. */
  readonly coldPricePerHour: MicroDollars;
  /** Seconds from rental to ready. */
  readonly bootSeconds: number;
  /** Seconds from start to ready. */
  readonly wakeSeconds: number;
}

/** Worker that exists and was ready before the replay begins. */
export interface FirstWorker {
  readonly model: WorkerModel;
  readonly desired: 'Hot' | 'Cold';
}

/** Simulated worker. Times are milliseconds. */
export interface FleetWorker {
  readonly name: string;
  readonly model: WorkerModel;
  readonly desired: 'Hot' | 'Cold' | 'Gone';
  /** Time of readiness; undefined while the worker is stopped. */
  readonly readyAt: number | undefined;
  /** Time of the last start of its machine. */
  readonly startedAt: number;
  /** True if the worker was started after a stop. */
  readonly isWoken: boolean;
  readonly wasEverReady: boolean;
  readonly drainSince: number | undefined;
  /** Accepted, unfinished work. */
  readonly queue: number;
}

/** Work and cost so far. */
export interface Totals {
  /** Work units. */
  readonly offered: number;
  readonly served: number;
  readonly rejected: number;
  /** Waiting time of accepted work, in units × seconds. */
  readonly waited: number;
  /** Micro-dollars per hour × seconds; whole numbers, so that sums are exact. */
  readonly priceSeconds: number;
}

/** Simulated workers and the work in front of them. Immutable: each step returns a new fleet. */
export interface Fleet {
  /** Workers, oldest first. */
  readonly workers: readonly FleetWorker[];
  readonly front: FrontQueue;
  /** Number of workers created so far. */
  readonly created: number;
  readonly totals: Totals;
}

export const NOTHING_YET: Totals = { offered: 0, served: 0, rejected: 0, waited: 0, priceSeconds: 0 };

/** Returns true if the worker is ready at a time. */
export function isServing({ readyAt }: FleetWorker, now: number): boolean {
  return readyAt !== undefined && readyAt <= now;
}

/** Returns the hot workers that serve. */
export function readyWorkers({ workers }: Fleet, now: number): readonly FleetWorker[] {
  return workers.filter((worker) => worker.desired === 'Hot' && isServing(worker, now));
}

/** Returns the waiting work, in workers and in front of them. */
export function waitingWork({ workers, front }: Fleet): number {
  return workers.reduce((sum, { queue }) => sum + queue, amountOf(front));
}

/** Returns the hourly cost of all machines in their present state. */
export function pricePerHour({ workers }: Fleet): MicroDollars {
  return workers.reduce(
    (sum, { model, readyAt }) => sum + (readyAt === undefined ? model.coldPricePerHour : model.pricePerHour),
    0,
  );
}

/** Time span without a decision. */
export interface Span {
  /** Milliseconds. */
  readonly from: number;
  readonly seconds: number;
  /** Work units that arrive evenly over the span. */
  readonly offered: number;
  readonly maxQueueSeconds: number;
  /** Maximum seconds for a draining worker to finish its work. */
  readonly drainSeconds: number;
}

/** Returns true if the number of steps is irrelevant: all work is done on arrival, and no worker starts or leaves. */
export function isCalm(fleet: Fleet, { from, seconds, offered }: Omit<Span, 'drainSeconds'>): boolean {
  const end = from + seconds * 1000;
  const perf = readyWorkers(fleet, from).reduce((sum, { model }) => sum + model.perf, 0);
  const isSettled = ({ desired, queue, readyAt }: FleetWorker) =>
    desired !== 'Gone' &&
    queue === 0 &&
    (readyAt === undefined || readyAt > end || (readyAt <= from && desired === 'Hot'));
  return fleet.front.length === 0 && offered <= perf * seconds && fleet.workers.every(isSettled);
}

/**
 * Advances the fleet over a span. The ready worker with the shortest wait receives new work. Full workers reject it;
 * without a ready worker it waits in the front queue, at most for the maximum wait.
 */
export function passed(fleet: Fleet, span: Span): Fleet {
  const { from, seconds, offered, maxQueueSeconds, drainSeconds } = span;
  const now = from + seconds * 1000;
  const ready = readyWorkers(fleet, from);
  const worked = worksOf(fleet, span, ready);
  const front =
    ready.length > 0
      ? frontAfter(fleet.front, span, worked.refused)
      : { queue: joined(fleet.front, { at: from, amount: offered }), turnedAway: 0, waited: 0 };
  const { queue, expired } = withoutExpired(front.queue, now, maxQueueSeconds);
  const { totals } = fleet;
  return {
    ...fleet,
    workers: worked.workers.some(({ desired }) => desired !== 'Hot')
      ? worked.workers.flatMap((worker) => settled(worker, now, drainSeconds))
      : worked.workers,
    front: queue,
    totals: {
      offered: totals.offered + offered,
      served: totals.served + worked.served,
      rejected: totals.rejected + front.turnedAway + expired,
      waited: totals.waited + worked.waited + front.waited,
      priceSeconds: totals.priceSeconds + pricePerHour(fleet) * seconds,
    },
  };
}

interface Worked {
  readonly workers: readonly FleetWorker[];
  readonly served: number;
  /** Work rejected by full workers. */
  readonly refused: number;
  readonly waited: number;
}

function worksOf(fleet: Fleet, span: Span, ready: readonly FleetWorker[]): Worked {
  const { from, seconds, offered, maxQueueSeconds } = span;
  const servers = ready.map(({ queue, model }) => ({ queue, perf: model.perf }));
  const shares = spreadWork(servers, amountOf(fleet.front) + offered);
  let [served, refused, waited] = [0, 0, 0];
  let next = 0;
  const workers = fleet.workers.map((worker) => {
    if (!isServing(worker, from)) return worker;
    const share = worker.desired === 'Hot' ? (shares[next++] ?? 0) : 0;
    const result = serve(worker.queue, share, { perf: worker.model.perf, seconds, maxQueueSeconds });
    served += result.done;
    refused += result.rejected;
    waited += ((worker.queue + result.queue) / 2) * seconds;
    if (worker.wasEverReady && worker.queue === result.queue) return worker;
    return { ...worker, queue: result.queue, wasEverReady: true };
  });
  return { workers, served, refused, waited };
}

interface FrontAfter {
  readonly queue: FrontQueue;
  readonly turnedAway: number;
  readonly waited: number;
}

/** Returns the front queue after a span. Older work is served first, so new work is rejected first. */
function frontAfter(front: FrontQueue, { from, offered }: Span, refused: number): FrontAfter {
  const turnedAway = Math.min(refused, offered);
  const left = refused - turnedAway;
  return { ...takenFrom(front, amountOf(front) - left, from), turnedAway };
}

/**
 * Returns a leaving worker: stopped or removed once it has drained or its drain time is over. A worker that boots for
 * the cold pool becomes ready once before it stops.
 */
function settled(worker: FleetWorker, now: number, drainSeconds: number): readonly FleetWorker[] {
  if (worker.desired === 'Hot') return [worker];
  const isDrained = worker.queue <= ROUNDING_ERROR || now >= (worker.drainSince ?? now) + drainSeconds * 1000;
  if (worker.desired === 'Gone') return isDrained ? [] : [worker];
  if (!isServing(worker, now) || !isDrained) return [worker];
  return [{ ...worker, readyAt: undefined, wasEverReady: true, isWoken: false, drainSince: undefined }];
}

/** Rounding error of finished work. */
const ROUNDING_ERROR = 1e-6;
