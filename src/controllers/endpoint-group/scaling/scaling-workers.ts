import type { EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { highestCap, type MicroDollars } from '../../../lib/money.ts';
import type { LoadView, WorkerLoad } from '../load/view.ts';
import { isOldTemplate } from '../workers/template.ts';
import type { Worker } from '../workers/worker.ts';
import type { ChoosableWorker } from './plan.ts';
import { median, usualPerf } from './usual-perf.ts';

export interface WorkersInput {
  readonly spec: EndpointGroupSpec;
  readonly workers: readonly Worker[];
  readonly load: LoadView;
  readonly templateHash: string;
  readonly now: number;
  /** What one worker did by the last decision on record; undefined where none knew it. */
  readonly recordedPerf: string | undefined;
  /** Uids of workers whose account is frozen by its breaker. */
  readonly frozen: ReadonlySet<string>;
  /** Names of workers that serve where no Service can lead to: they relieve nobody. */
  readonly unreachable: ReadonlySet<string>;
}

/**
 * Work per second of one more worker: the median of what workers told, else what the group expects, else what is on
 * record. A pool that sleeps tells nothing to a new process, and is no smaller for that.
 */
export function expectedPerf({ spec, workers, load, recordedPerf }: WorkersInput): number | undefined {
  return usualPerf(toldPerfs(workers, load), spec.expectedPerf ?? recordedPerf);
}

function toldPerfs(workers: readonly Worker[], load: LoadView): readonly number[] {
  return workers.flatMap(({ name }) => load.workers.get(name)?.maxPerf ?? []);
}

/** What a new worker may cost at most: the dearest alternative; else what the dearest of its siblings costs. */
export function priceOfNew({ spec, workers }: WorkersInput): MicroDollars | undefined {
  const dearest = dearestOffer(spec);
  if (dearest !== undefined) return dearest;
  const paid = workers.flatMap((worker) => worker.pricePerHour ?? []);
  return paid.length > 0 ? Math.max(...paid) : undefined;
}

/** The most that any alternative of the template may cost; undefined where one of them does not say. */
export function dearestOffer({ template }: EndpointGroupSpec): MicroDollars | undefined {
  return highestCap((template.spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
}

/** The workers as numbers and choices count them. */
export function scalingWorkers(input: WorkersInput): readonly ChoosableWorker[] {
  const perf = expectedPerf(input);
  const price = priceOfNew(input) ?? 0;
  const order = dropOrder(input);
  return input.workers.map((worker): ChoosableWorker => {
    const load = input.load.workers.get(worker.name);
    return {
      name: worker.name,
      role: roleOf(worker),
      perf: load?.isMissing ? 0 : perfOf(worker, input, perf),
      pricePerHour: worker.pricePerHour ?? price,
      coldPricePerHour: worker.coldPricePerHour ?? 0,
      keepRank: order.get(worker.name) ?? 0,
      isReady: worker.isServing && !input.unreachable.has(worker.name),
      wasEverReady: worker.wasEverReady,
      isOverdue: worker.isOverdue,
      curLoad: load?.currentLoad ?? 0,
      isRunning: !worker.isStopped,
      isCurrentTemplate: !isOldTemplate(worker.templateHash, input.templateHash),
      isHeld: worker.isHeld,
      hasRun: worker.hasRun,
      isUnreachable: isUnreachable(worker, input),
      isSpared: input.frozen.has(worker.uid) || isWaking(worker),
      hasWakeFailed: hasWakeFailed(worker, input),
      hasEnded: hasEnded(worker, input),
    };
  });
}

/** Its own figure, else the median of the same GPU, else what is usual. */
function perfOf({ name, gpu }: Worker, { workers, load }: WorkersInput, usual: number | undefined): number {
  const own = load.workers.get(name)?.maxPerf;
  if (own !== undefined) return own;
  const alike = gpu === undefined ? [] : workers.filter((worker) => worker.gpu === gpu);
  return median(toldPerfs(alike, load)) ?? usual ?? 0;
}

function roleOf(worker: Worker): ChoosableWorker['role'] {
  if (worker.isDeleting || worker.wanted === 'Gone') return 'leaving';
  return worker.wanted === 'Hot' ? 'hot' : 'cold';
}

/** Where it is reached is known, and nobody can be led there; an address may only be missing for a while. */
function isUnreachable({ name, isServing, object }: Worker, { unreachable }: WorkersInput): boolean {
  return isServing && unreachable.has(name) && object.status?.publicAddress !== undefined;
}

/** Has not served since it was woken, and may still come to it. */
function isWaking({ isServing, isOverdue, wokenAt, ranSinceWoken, readySince }: Worker): boolean {
  if (wokenAt === undefined || isServing || isOverdue) return false;
  return !ranSinceWoken || readySince <= wokenAt;
}

function hasWakeFailed(worker: Worker, { spec, now, frozen }: WorkersInput): boolean {
  if (worker.wakeSince === undefined || worker.wanted !== 'Hot' || worker.ranSinceWoken) return false;
  return now >= worker.wakeSince + (parseDuration(spec.wakeTimeout) ?? 0) && !frozen.has(worker.uid);
}

/** What is missing while its account is frozen may be there. */
function hasEnded(worker: Worker, { frozen }: WorkersInput): boolean {
  return worker.hasEnded && !frozen.has(worker.uid);
}

/**
 * Who goes first: marked by a person, of an old template, unhealthy, newest, by name. Higher ranks stay, and held ones
 * above all: whoever counts on others to stay would count wrong.
 */
function dropOrder({ workers, load, templateHash }: WorkersInput): ReadonlyMap<string, number> {
  const isSick = (worker: Worker) => {
    const figures: WorkerLoad | undefined = load.workers.get(worker.name);
    return figures?.isMissing === true || (figures?.error ?? '') !== '' || worker.isStalled;
  };
  const sorted = [...workers].sort(
    (a, b) =>
      Number(a.isHeld) - Number(b.isHeld) ||
      Number(b.isMarked) - Number(a.isMarked) ||
      Number(isOldTemplate(b.templateHash, templateHash)) -
        Number(isOldTemplate(a.templateHash, templateHash)) ||
      Number(isSick(b)) - Number(isSick(a)) ||
      b.createdAt - a.createdAt ||
      (a.name < b.name ? -1 : 1),
  );
  return new Map(sorted.map((worker, index) => [worker.name, index]));
}
