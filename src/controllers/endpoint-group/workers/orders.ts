import { formatExactTime } from '../../../lib/time.ts';
import type { EventNote } from '../../../runtime/events.ts';
import type { Change } from '../autoscale/plan.ts';
import type { LoadView } from '../load/view.ts';
import type { Action, WorkerOrder } from '../types.ts';
import type { Worker } from './worker.ts';

/** How long a worker that was just taken out of the Service may still get requests. */
const SETTLE_MS = 2000;

export interface OrdersInput {
  readonly workers: readonly Worker[];
  readonly load: LoadView;
  readonly now: number;
  readonly maxQueueMs: number;
  /** How long one that leaves may work on what it has begun. */
  readonly drainMs: number;
  /** A worker that has said nothing for so long says nothing about its requests. */
  readonly silentMs: number;
  /** Whether a worker has the name of this number, be it on its way out. */
  readonly isTaken: (ordinal: number) => boolean;
  /** At most this long after leaving the Service a report counts as one about the rest of the work. */
  readonly settleMs?: number;
}

/** What chosen changes mean for the objects. */
export function actionsFor(changes: readonly Change[], input: OrdersInput): readonly Action[] {
  const byName = new Map(input.workers.map((worker) => [worker.name, worker]));
  const free = freeOrdinals(input.isTaken);
  return changes.flatMap((change): readonly Action[] => {
    if (change.type === 'rent') return [{ ...change, type: 'create', ordinal: free.next().value }];
    const worker = byName.get(change.name);
    return worker ? actionsOn(worker, change, input.now) : [];
  });
}

/** The lowest numbers that no worker has. */
function* freeOrdinals(isTaken: (ordinal: number) => boolean): Generator<number, never> {
  for (let ordinal = 0; ; ordinal += 1) if (!isTaken(ordinal)) yield ordinal;
}

function actionsOn(
  worker: Worker,
  change: Exclude<Change, { type: 'rent' }>,
  now: number,
): readonly Action[] {
  switch (change.type) {
    case 'wake':
      return [{ type: 'order', worker, order: wakeOrder(worker, now) }];
    case 'park':
      return [{ type: 'order', worker, order: { ...leaveOrder(worker, now), desiredRole: 'Cold' } }];
    case 'destroy':
      return [...hostReportFor(worker, change.why), ending(worker, change.why, now)];
  }
}

/** Who rents in its place keeps off the host for a while. */
function hostReportFor(worker: Worker, why: string): readonly Action[] {
  if (why === 'WakeTimedOut') return [{ type: 'reportHostFailure', worker, reason: 'CannotStart' }];
  return why === 'Broken' ? [{ type: 'reportHostFailure', worker, reason: 'WorkersFailing' }] : [];
}

function ending(worker: Worker, why: string, now: number): Action {
  if (why === 'WakeTimedOut' || !mayWork(worker)) return { type: 'delete', worker };
  return { type: 'order', worker, order: { ...leaveOrder(worker, now), desiredRole: 'Gone' } };
}

function wakeOrder(worker: Worker, now: number): WorkerOrder {
  const sleeps = worker.powerState === 'Stopped';
  return {
    powerState: 'Running',
    desiredRole: 'Hot',
    drainSince: undefined,
    wokenAt: sleeps ? now : worker.wokenAt,
  };
}

/** One that never served has no work to finish; one that drains may have some while it does not answer for a moment. */
function mayWork({ isServing, isUp, drainSince }: Worker): boolean {
  return isServing || (isUp && drainSince !== undefined);
}

function leaveOrder(worker: Worker, now: number): Omit<WorkerOrder, 'desiredRole'> {
  const { powerState } = worker;
  const drainSince = mayWork(worker) ? (worker.drainSince ?? now) : undefined;
  return { powerState, drainSince, wokenAt: undefined };
}

/**
 * Workers that were told to go and have finished: they are stopped or deleted now. Not those that are changed now: what
 * they were told before holds no more.
 */
export function afterDraining(input: OrdersInput, changes: readonly Change[]): readonly Action[] {
  const changed = new Set(changes.flatMap((change) => (change.type === 'rent' ? [] : [change.name])));
  const draining = input.workers.filter(
    ({ name, isDeleting, isOnHold }) => !isDeleting && !isOnHold && !changed.has(name),
  );
  return draining.flatMap((worker): readonly Action[] => {
    if (isNotedAhead(worker, input.now)) {
      const { powerState, desiredRole } = worker;
      const order = { powerState, desiredRole, drainSince: input.now, wokenAt: undefined };
      return [{ type: 'order', worker, order }];
    }
    if (worker.desiredRole === 'Gone' && isDrained(worker, input)) return [{ type: 'delete', worker }];
    if (worker.desiredRole !== 'Cold' || worker.powerState !== 'Running') return [];
    if (!mayStop(worker) || !isDrained(worker, input)) return [];
    const order = {
      powerState: 'Stopped',
      desiredRole: 'Cold',
      drainSince: undefined,
      wokenAt: undefined,
    } as const;
    return [{ type: 'order', worker, order }];
  });
}

/** The clock was set back since: nobody would wait for its end otherwise until the clock has caught up. */
function isNotedAhead(worker: Worker, now: number): boolean {
  const { drainSince, desiredRole } = worker;
  return desiredRole !== 'Hot' && mayWork(worker) && drainSince !== undefined && drainSince > now;
}

/** One that boots for the pool of cold workers is stopped after it was ready once, never before. */
function mayStop(worker: Worker): boolean {
  return worker.isServing || worker.drainSince !== undefined;
}

/**
 * Nothing runs there any more: by its own word after it left the Service, or, where it has none, since nothing may wait
 * longer. One that says it works on requests has until `drainTimeout`.
 */
function isDrained(worker: Worker, input: OrdersInput): boolean {
  const { drainSince } = worker;
  if (drainSince === undefined || !mayWork(worker)) return true;
  if (input.now >= drainSince + input.drainMs) return true;
  const reported = input.load.workers.get(worker.name)?.inFlight;
  const settled = drainSince + Math.min(input.settleMs ?? SETTLE_MS, SETTLE_MS);
  if (reported !== undefined && reported.at >= settled && reported.count === 0) return true;
  return input.now >= drainSince + input.maxQueueMs && !isStillWorking(reported, input);
}

/** It says so itself, and has said it lately. */
function isStillWorking(
  reported: { readonly count: number; readonly at: number } | undefined,
  { now, silentMs }: OrdersInput,
): boolean {
  return reported !== undefined && reported.count > 0 && now - reported.at < silentMs;
}

/** The metadata and spec fields of a worker that the group owns by server-side apply. */
export function orderPatch(worker: Worker, order: WorkerOrder, names: OrderNames): object {
  const { apiVersion, kind, metadata } = worker.object;
  const noted: Record<string, string> = { [names.desiredRole]: order.desiredRole };
  if (order.drainSince !== undefined) noted[names.drainSince] = formatExactTime(order.drainSince);
  if (order.wokenAt !== undefined) noted[names.wokenAt] = formatExactTime(order.wokenAt);
  return {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      uid: metadata.uid,
      annotations: noted,
    },
    spec: { powerState: order.powerState },
  };
}

interface OrderNames {
  readonly desiredRole: string;
  readonly drainSince: string;
  readonly wokenAt: string;
}

/** What a pass does, told once per kind of change. */
export function eventsFor(changes: readonly Change[], because: string): readonly EventNote[] {
  const count = (holds: (change: Change) => boolean) => changes.filter(holds).length;
  const rows: readonly (readonly [number, Omit<EventNote, 'note'>, string])[] = [
    [count((c) => c.type === 'wake'), normal('WorkersWoken', 'ScaleUp'), 'woken'],
    [
      count((c) => c.type === 'rent' && c.desiredRole === 'Hot'),
      normal('WorkersAdded', 'ScaleUp'),
      'added to serve',
    ],
    [
      count((c) => c.type === 'rent' && c.desiredRole === 'Cold'),
      normal('WorkersAdded', 'ScaleUp'),
      'added to the pool of cold ones',
    ],
    [count((c) => c.type === 'park'), normal('WorkersParked', 'ScaleDown'), 'drained and then stopped'],
    [
      count(isDestroyed('Ended')),
      normal('WorkersRemoved', 'Replace'),
      'whose machine has ended and that rents no other destroyed',
    ],
    [
      count(isDestroyed('OldPrice')),
      normal('WorkersReplaced', 'Replace'),
      'without an offer under an outdated price limit replaced',
    ],
    [count(isDestroyed('Surplus')), normal('WorkersRemoved', 'ScaleDown'), 'drained and then destroyed'],
    [
      count(isDestroyed('OldTemplate')),
      normal('WorkersReplaced', 'RollingUpdate'),
      'of an old template replaced',
    ],
    [
      count(isDestroyed('Broken')),
      { type: 'Warning', reason: 'WorkersReplaced', action: 'Replace' },
      'that served nobody for too long replaced',
    ],
    [
      count(isDestroyed('WakeTimedOut')),
      { type: 'Warning', reason: 'WakeTimedOut', action: 'Wake' },
      'did not wake in time and are destroyed',
    ],
  ];
  return rows
    .filter(([number]) => number > 0)
    .map(([number, event, what]) => ({
      ...event,
      note: `${number} worker${number === 1 ? '' : 's'} ${what}. ${because}`,
    }));
}

const isDestroyed = (why: string) => (change: Change) => change.type === 'destroy' && change.why === why;

function normal(reason: string, action: string): Omit<EventNote, 'note'> {
  return { type: 'Normal', reason, action };
}
