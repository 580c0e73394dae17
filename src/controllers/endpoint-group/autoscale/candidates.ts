import type { EndpointGroupSpec } from '../../../api/v1alpha1/endpoint-group.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { linkOfWorker } from '../../../api/v1alpha1/worker-link.ts';
import { unconfirmedPerHour } from '../../../instance/cost.ts';
import { highestCap, type MicroDollars, parseDollars } from '../../../lib/money.ts';
import { parseDuration } from '../../../lib/time.ts';
import { isCertificateEnding } from '../identity/authorities.ts';
import type { LoadView, WorkerLoad } from '../load/view.ts';
import { isOutdated } from '../workers/template.ts';
import type { Worker } from '../workers/worker.ts';
import { median, usualPerf } from './capacity.ts';
import type { ReplacementPace } from './failing.ts';
import { priceNow } from './plan.ts';
import type { ScalingWorker } from './scaling-worker.ts';

export interface WorkersInput {
  readonly spec: EndpointGroupSpec;
  readonly workers: readonly Worker[];
  readonly load: LoadView;
  readonly templateHash: string;
  readonly now: number;
  /** Performance of one worker at the last recorded decision; undefined if it was unknown. */
  readonly recordedPerf: string | undefined;
  /** Uids of workers whose account is suspended or frozen by its breaker. */
  readonly frozen: ReadonlySet<string>;
  /** Time since which workers have reported an error, by reporter. */
  readonly brokenSince?: ReadonlyMap<string, number> | undefined;
  /** Pace of replacements; undefined means that the next one may be immediate. */
  readonly pace?: ReplacementPace;
  /** Names of workers that serve but that no Service can reach, so they replace no other. */
  readonly unreachable: ReadonlySet<string>;
  /** Names of workers for which a machine of the present template can be rented. */
  readonly inHand?: Pick<ReadonlySet<string>, 'has'> | undefined;
  /** Price limit of one machine by the account of the workers; undefined without a limit. */
  readonly accountCap?: MicroDollars | undefined;
}

/**
 * Returns the work per second of one more worker: the median of reported ones, else the one the group expects, else
 * the recorded one. Stopped workers report nothing to a new process.
 */
export function expectedPerf({ spec, workers, load, recordedPerf }: WorkersInput): number | undefined {
  return usualPerf(reportedPerfs(workers, load), spec.expectedPerf ?? recordedPerf);
}

function reportedPerfs(workers: readonly Worker[], load: LoadView): readonly number[] {
  return workers.flatMap(({ name }) => load.workers.get(name)?.maxPerf ?? []);
}

/** Returns the price limit of a new worker by its template and its account. */
export function priceOfNew({ spec, accountCap }: WorkersInput): MicroDollars | undefined {
  return lower(mostExpensiveOffer(spec), accountCap);
}

/**
 * Returns the minimum remaining room for a new worker if the template has an offer without a price: the highest price
 * of its siblings, or the limit of its account while none has a price. Undefined if all offers have a price.
 */
export function usualPrice(input: WorkersInput): MicroDollars | undefined {
  const { spec, workers, accountCap } = input;
  if (mostExpensiveOffer(spec) !== undefined) return undefined;
  if (workers.length === 0) return 0;
  const paid = workers.flatMap((worker) => worker.pricePerHour ?? []);
  return paid.length > 0 ? Math.max(...paid) : (accountCap ?? Number.POSITIVE_INFINITY);
}

/** Returns the possible price of a worker without a price: the limit of its own spec and its account. */
function maxPriceOf(worker: Worker, input: WorkersInput): MicroDollars {
  const most = lower(ownCap(worker), input.accountCap) ?? priceOfNew(input);
  return most ?? parseDollars(input.spec.maxSpendPerHour) ?? 0;
}

function lower(one: MicroDollars | undefined, other: MicroDollars | undefined): MicroDollars | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** Returns the highest price limit of the template's offers; undefined if one has none. */
export function mostExpensiveOffer({ template }: EndpointGroupSpec): MicroDollars | undefined {
  return highestCap((template.spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
}

/** Returns the workers as input of the autoscaler. */
export function scalingWorkers(input: WorkersInput): readonly ScalingWorker[] {
  const perf = expectedPerf(input);
  const order = dropOrder(input);
  // A renting worker may use the offer that was found for the substitute.
  const isOneRenting = input.workers.some((worker) => isRenting(worker) && !isToReplace(worker, input));
  const workers = input.workers.map((worker): ScalingWorker => {
    const load = input.load.workers.get(worker.name);
    return {
      name: worker.name,
      role: roleOf(worker),
      perf: load?.isMissing || isFaulty(load) ? 0 : perfOf(worker, input, perf),
      pricePerHour: worker.pricePerHour ?? maxPriceOf(worker, input),
      coldPricePerHour: worker.coldPricePerHour ?? 0,
      unconfirmedPerHour: unconfirmedPerHour(worker.object.status),
      keepRank: order.get(worker.name) ?? 0,
      isReady: worker.isServing && !input.unreachable.has(worker.name) && !isFaulty(load),
      wasEverReady: worker.wasEverReady,
      isOverdue: worker.isOverdue,
      curLoad: load?.currentLoad ?? 0,
      isRunning: !worker.isStopped,
      isCurrentTemplate: !isToReplace(worker, input),
      isOnHold: worker.isOnHold,
      hasRun: worker.hasRun,
      isUnreachable: isUnreachable(worker, input),
      isUpdateExempt: input.frozen.has(worker.uid) || isWaking(worker),
      isWithoutSubstitute: worker.isRented && (isOneRenting || input.inHand?.has(worker.name) !== true),
      hasWakeFailed: hasWakeFailed(worker, input),
      hasEnded: hasEnded(worker, input),
      isBroken: isBroken(worker, input),
      isPaced: isPaced(worker, input),
    };
  });
  const spend = workers.reduce((sum, worker) => sum + priceNow(worker), 0);
  const beyond = beyondCeiling(input, workers, spend);
  return workers.map((worker, index) => ({
    ...worker,
    hasOldPrice: hasOldPrice(input.workers[index], spend - priceNow(worker), input),
    isBeyondCeiling: beyond.has(worker.name),
  }));
}

/**
 * Returns the names of workers that never had a machine and would rent beyond the ceiling, the newest first. The
 * ceiling was lowered after their creation, or other workers cost more.
 */
function beyondCeiling(
  { spec, workers }: WorkersInput,
  candidates: readonly ScalingWorker[],
  spend: MicroDollars,
): ReadonlySet<string> {
  const ceiling = parseDollars(spec.maxSpendPerHour);
  if (ceiling === undefined) return new Set();
  const prices = new Map(candidates.map((candidate) => [candidate.name, priceNow(candidate)]));
  const waiting = workers
    .filter(({ isDeleting, object }) => !isDeleting && isYetToRent(object))
    .toSorted((a, b) => b.createdAt - a.createdAt || (a.name < b.name ? 1 : -1));
  const beyond = new Set<string>();
  let left = spend;
  for (const { name } of waiting) {
    if (left <= ceiling) break;
    left -= prices.get(name) ?? 0;
    beyond.add(name);
  }
  return beyond;
}

/** Returns true if the object records no purchase: no machine, no intent and no earlier attempt. */
function isYetToRent({ metadata, status }: Worker['object']): boolean {
  const { instanceId, attempt = 0, history = [] } = status ?? {};
  const hasIntent = metadata.annotations?.[annotations.rentalIntent] !== undefined;
  return instanceId === undefined && attempt === 0 && history.length === 0 && !hasIntent;
}

/**
 * Returns true if a worker has waited past its deadline for an offer, and a new worker beside the others would have a
 * higher price limit.
 */
function hasOldPrice(worker: Worker | undefined, others: MicroDollars, input: WorkersInput): boolean {
  if (!worker?.isOverdue || worker.isRented || usualPrice(input) === undefined) return false;
  const own = ownCap(worker);
  const ceiling = parseDollars(input.spec.maxSpendPerHour);
  const now = lower(input.accountCap, ceiling === undefined ? undefined : ceiling - others);
  return own !== undefined && own < (now ?? Number.POSITIVE_INFINITY);
}

function ownCap({ object }: Worker): MicroDollars | undefined {
  return highestCap((object.spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
}

/** Returns true if the worker needs a replacement: by the template, or since its certificate ends soon. */
export function isToReplace(
  worker: Worker,
  input: Pick<WorkersInput, 'spec' | 'templateHash' | 'now'>,
): boolean {
  if (isOutdated(worker, input)) return true;
  return linkOfWorker(worker.object) === 'TLS' && isCertificateEnding(worker, input.now);
}

/** Returns its reported performance, else the median of the same GPU, else the usual one. */
function perfOf({ name, gpu }: Worker, { workers, load }: WorkersInput, usual: number | undefined): number {
  const own = load.workers.get(name)?.maxPerf;
  if (own !== undefined) return own;
  const alike = gpu === undefined ? [] : workers.filter((worker) => worker.gpu === gpu);
  return median(reportedPerfs(alike, load)) ?? usual ?? 0;
}

function roleOf(worker: Worker): ScalingWorker['role'] {
  if (worker.isDeleting || worker.desiredRole === 'Gone') return 'leaving';
  return worker.desiredRole === 'Hot' ? 'hot' : 'cold';
}

/** Returns true if a worker serves at a known address that no Service can reach. A missing address may be temporary. */
function isUnreachable({ name, isServing, object }: Worker, { unreachable }: WorkersInput): boolean {
  return isServing && unreachable.has(name) && object.status?.publicAddress !== undefined;
}

/** Returns true if the worker has not served since its wake and may still do so. */
function isWaking({ isServing, isOverdue, wokenAt, ranSinceWoken, readySince }: Worker): boolean {
  if (wokenAt === undefined || isServing || isOverdue) return false;
  return !ranSinceWoken || readySince <= wokenAt;
}

function hasWakeFailed(worker: Worker, { spec, now, frozen }: WorkersInput): boolean {
  if (worker.wakeSince === undefined || worker.desiredRole !== 'Hot' || worker.ranSinceWoken) return false;
  return now >= worker.wakeSince + (parseDuration(spec.wakeTimeout) ?? 0) && !frozen.has(worker.uid);
}

/** Returns true if the worker is waiting for a machine and may still get one. */
export function isRenting({ isRented, isStopped, isDeleting, isStalled, isOverdue }: Worker): boolean {
  return !isRented && !isStopped && !isDeleting && !isStalled && !isOverdue;
}

/** Returns true if the worker reports an error: it gets no requests and adds no capacity. */
export function isFaulty(load: WorkerLoad | undefined): boolean {
  return (load?.error ?? '') !== '';
}

/** Duration of an error before the worker is replaced. */
const FAULTY_FOR_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Returns true if the worker has been unusable beyond its timeout. A new one is replaced only at the pace of
 * `maxPerHour`, so that an image that is broken everywhere does not rent machine after machine.
 */
function isBroken(worker: Worker, { spec, now, frozen, brokenSince }: WorkersInput): boolean {
  const { maxPerHour } = worker.object.spec.replacement;
  if (frozen.has(worker.uid) || worker.isOnHold || now < worker.createdAt + HOUR_MS / maxPerHour)
    return false;
  const faultySince = brokenSince?.get(worker.reporter);
  if (faultySince !== undefined && now >= faultySince + FAULTY_FOR_MS) return true;
  const { unreadySince } = worker;
  const limitMs = parseDuration(spec.notReadyTimeout);
  return unreadySince !== undefined && limitMs !== undefined && now >= unreadySince + limitMs;
}

/** Returns true if earlier replacements delay this one. */
function isPaced({ name }: Worker, { now, pace }: WorkersInput): boolean {
  return pace !== undefined && now < pace.from && name !== pace.underWay;
}

/** Returns true if the machine is gone. A missing machine of a frozen account may still exist. */
function hasEnded(worker: Worker, { frozen }: WorkersInput): boolean {
  return worker.hasEnded && !frozen.has(worker.uid);
}

/**
 * Returns the ranks of the workers: marked, outdated, unhealthy, fewest requests, newest, then by name. The lowest
 * rank is removed first. Held workers have the highest ranks, since they stay in any case.
 */
function dropOrder(input: WorkersInput): ReadonlyMap<string, number> {
  const { workers, load } = input;
  const outdated = new Set(workers.filter((worker) => isToReplace(worker, input)));
  const isSick = (worker: Worker) => {
    const figures: WorkerLoad | undefined = load.workers.get(worker.name);
    return figures?.isMissing === true || (figures?.error ?? '') !== '' || worker.isStalled;
  };
  const requestsOf = ({ name }: Worker) => load.workers.get(name)?.inFlight?.count ?? 0;
  const sorted = [...workers].sort(
    (a, b) =>
      Number(a.isOnHold) - Number(b.isOnHold) ||
      Number(b.isMarked) - Number(a.isMarked) ||
      Number(outdated.has(b)) - Number(outdated.has(a)) ||
      Number(isSick(b)) - Number(isSick(a)) ||
      requestsOf(a) - requestsOf(b) ||
      b.createdAt - a.createdAt ||
      (a.name < b.name ? -1 : 1),
  );
  return new Map(sorted.map((worker, index) => [worker.name, index]));
}
