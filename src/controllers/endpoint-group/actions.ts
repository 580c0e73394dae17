import type { EndpointGroup, EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { nothingStarts } from '../../instance/launch.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { formatExactTime } from '../../lib/time.ts';
import { findCondition } from '../../runtime/conditions.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Change } from './autoscale/plan.ts';
import type { LoadView } from './load/view.ts';
import type { Action, WorkerOrder } from './types.ts';
import type { Worker } from './workers/worker.ts';

/** Time for which a worker may still get requests after it left the Service. */
const SETTLE_MS = 2000;

export interface OrdersInput {
  readonly workers: readonly Worker[];
  readonly load: LoadView;
  readonly now: number;
  readonly maxQueueMs: number;
  /** Maximum time for a leaving worker to finish its requests. */
  readonly drainMs: number;
  /** The group waits for a wake as long as the default or longer: a host that fails it counts for other namespaces. */
  readonly isWakeTimeoutLong?: boolean;
  /** Older reports say nothing about the requests of a worker. */
  readonly silentMs: number;
  /** True if a worker, even a leaving one, has the name of this number. */
  readonly isTaken: (ordinal: number) => boolean;
  /** A report this long after the worker left the Service, or later, counts its remaining requests. */
  readonly settleMs?: number;
}

/** The actions on objects that bring about the chosen changes. */
export function actionsFor(changes: readonly Change[], input: OrdersInput): readonly Action[] {
  const byName = new Map(input.workers.map((worker) => [worker.name, worker]));
  let next = 0;
  return changes.flatMap((change): readonly Action[] => {
    if (change.type === 'rent') {
      // New workers take the lowest free number.
      while (input.isTaken(next)) next += 1;
      return [{ ...change, type: 'create', ordinal: next++, change }];
    }
    const worker = byName.get(change.name);
    return worker ? actionsOn(worker, change, input) : [];
  });
}

function actionsOn(
  worker: Worker,
  change: Exclude<Change, { type: 'rent' }>,
  { now, isWakeTimeoutLong }: OrdersInput,
): readonly Action[] {
  switch (change.type) {
    case 'wake': {
      const wokenAt = worker.powerState === 'Stopped' ? now : worker.wokenAt;
      const order = { powerState: 'Running', desiredRole: 'Hot', drainSince: undefined, wokenAt } as const;
      return [{ type: 'order', worker, order, change }];
    }
    case 'park':
      return [{ type: 'order', worker, order: { ...leaveOrder(worker, now), desiredRole: 'Cold' }, change }];
    case 'destroy': {
      const { why } = change;
      const isLate = why === 'WakeTimedOut';
      // The image may be the cause of a broken worker on every host: its group blames the host for itself alone.
      const failure = isLate
        ? ({ reason: 'CannotStart', isForAll: isWakeTimeoutLong === true } as const)
        : ({ reason: 'WorkersFailing', isForAll: false } as const);
      return [
        // The worker that is rented in its place avoids the host for a while.
        ...(isLate || why === 'Broken' ? [{ type: 'reportHostFailure', worker, ...failure } as const] : []),
        isLate || !mayWork(worker)
          ? { type: 'delete', worker, change }
          : { type: 'order', worker, order: { ...leaveOrder(worker, now), desiredRole: 'Gone' }, change },
      ];
    }
  }
}

/** A worker that never served has no requests. A draining one may have some, even while it does not answer. */
function mayWork({ isServing, isUp, drainSince }: Worker): boolean {
  return isServing || (isUp && drainSince !== undefined);
}

function leaveOrder(worker: Worker, now: number): Omit<WorkerOrder, 'desiredRole'> {
  const { powerState } = worker;
  const drainSince = mayWork(worker) ? (worker.drainSince ?? now) : undefined;
  return { powerState, drainSince, wokenAt: undefined };
}

/**
 * Stops or deletes workers that were ordered to leave and have finished. Skips workers that change now: their earlier
 * order no longer applies.
 */
export function afterDraining(input: OrdersInput, changes: readonly Change[]): readonly Action[] {
  const changed = new Set(changes.flatMap((change) => (change.type === 'rent' ? [] : [change.name])));
  const draining = input.workers.filter(
    ({ name, isDeleting, isOnHold }) => !isDeleting && !isOnHold && !changed.has(name),
  );
  return draining.flatMap((worker): readonly Action[] => {
    const { powerState, desiredRole, drainSince, isServing } = worker;
    const drains = desiredRole !== 'Hot' && mayWork(worker) && drainSince !== undefined;
    // The clock was set back: without a new time the drain would last until the clock catches up.
    if (drains && drainSince > input.now) {
      const order = { powerState, desiredRole, drainSince: input.now, wokenAt: undefined };
      return [{ type: 'order', worker, order }];
    }
    if (desiredRole === 'Gone' && isDrained(worker, input)) return [{ type: 'delete', worker }];
    if (desiredRole !== 'Cold' || powerState !== 'Running') return [];
    // A worker that boots for the cold pool is stopped only after it was ready once.
    const mayStop = isServing || drainSince !== undefined;
    if (!mayStop || !isDrained(worker, input)) return [];
    const order = {
      powerState: 'Stopped',
      desiredRole: 'Cold',
      drainSince: undefined,
      wokenAt: undefined,
    } as const;
    return [{ type: 'order', worker, order }];
  });
}

/**
 * True if the worker has no requests: it reported none after it left the Service, or it does not report and no request
 * may wait longer. A worker that reports requests has until `drainTimeout`.
 */
function isDrained(worker: Worker, input: OrdersInput): boolean {
  const { drainSince } = worker;
  if (drainSince === undefined || !mayWork(worker)) return true;
  if (input.now >= drainSince + input.drainMs) return true;
  const reported = input.load.workers.get(worker.name)?.inFlight;
  const settled = drainSince + Math.min(input.settleMs ?? SETTLE_MS, SETTLE_MS);
  if (reported !== undefined && reported.at >= settled && reported.count === 0) return true;
  const isWorking = reported !== undefined && reported.count > 0 && input.now - reported.at < input.silentMs;
  return input.now >= drainSince + input.maxQueueMs && !isWorking;
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

interface ChangeEvent extends Omit<EventNote, 'note'> {
  readonly counts: (change: Change) => boolean;
  /** Predicate behind the number of workers; two forms if singular and plural differ. */
  readonly what: string | { readonly one: string; readonly many: string };
}

const isDestroyed = (why: string) => (change: Change) => change.type === 'destroy' && change.why === why;
const isRented = (role: string) => (change: Change) => change.type === 'rent' && change.desiredRole === role;

const CHANGE_EVENTS: readonly ChangeEvent[] = [
  {
    counts: ({ type }) => type === 'wake',
    ...{ type: 'Normal', reason: 'WorkersWoken', action: 'ScaleUp' },
    what: 'woken',
  },
  {
    counts: isRented('Hot'),
    ...{ type: 'Normal', reason: 'WorkersAdded', action: 'ScaleUp' },
    what: 'added to serve',
  },
  {
    counts: isRented('Cold'),
    ...{ type: 'Normal', reason: 'WorkersAdded', action: 'ScaleUp' },
    what: 'added to the pool of cold ones',
  },
  {
    counts: ({ type }) => type === 'park',
    ...{ type: 'Normal', reason: 'WorkersParked', action: 'ScaleDown' },
    what: 'drained and then stopped',
  },
  {
    counts: isDestroyed('Ended'),
    ...{ type: 'Normal', reason: 'WorkersRemoved', action: 'Replace' },
    what: {
      one: 'whose machine has ended and that rents no other destroyed',
      many: 'whose machines have ended and that rent no others destroyed',
    },
  },
  {
    counts: isDestroyed('OldPrice'),
    ...{ type: 'Normal', reason: 'WorkersReplaced', action: 'Replace' },
    what: 'without an offer under an outdated price limit replaced',
  },
  {
    counts: isDestroyed('BeyondCeiling'),
    ...{ type: 'Normal', reason: 'WorkersRemoved', action: 'ScaleDown' },
    what: {
      one: 'without a machine deleted, since maxSpendPerHour leaves no room for it',
      many: 'without a machine deleted, since maxSpendPerHour leaves no room for them',
    },
  },
  {
    counts: isDestroyed('Surplus'),
    ...{ type: 'Normal', reason: 'WorkersRemoved', action: 'ScaleDown' },
    what: 'drained and then destroyed',
  },
  {
    counts: isDestroyed('OldTemplate'),
    ...{ type: 'Normal', reason: 'WorkersReplaced', action: 'RollingUpdate' },
    what: 'of an old template replaced',
  },
  {
    counts: isDestroyed('Broken'),
    ...{ type: 'Warning', reason: 'WorkersReplaced', action: 'Replace' },
    what: 'that served nobody for too long replaced',
  },
  {
    counts: isDestroyed('WakeTimedOut'),
    ...{ type: 'Warning', reason: 'CannotStart', action: 'Wake' },
    what: {
      one: 'did not wake in time and is destroyed',
      many: 'did not wake in time and are destroyed',
    },
  },
];

/** One event for each kind of change, with the number of workers. */
export function eventsFor(changes: readonly Change[], because: string): readonly EventNote[] {
  return CHANGE_EVENTS.flatMap(({ counts, what, ...event }) => {
    const number = changes.filter(counts).length;
    if (number === 0) return [];
    const predicate = typeof what === 'string' ? what : agreeing(number, what.one, what.many);
    return [{ ...event, note: `${counted(number, 'worker')} ${predicate}. ${because}` }];
  });
}

/** A warning if nothing runs in the container of a worker, once for each generation. */
export function startEvents({ metadata, spec, status }: EndpointGroup): readonly EventNote[] {
  if (status?.observedGeneration === metadata.generation) return [];
  const note = nothingStarts(spec.template.spec);
  return note === undefined ? [] : [{ type: 'Warning', reason: 'InvalidSpec', action: 'Renting', note }];
}

/** One event when the rollout of a template becomes blocked, and one when it continues. */
export function blockEvents({ status }: EndpointGroup, next: EndpointGroupStatus): readonly EventNote[] {
  const before = findCondition(status?.conditions, 'ReplacementBlocked')?.status === 'True';
  const blocked = findCondition(next.conditions, 'ReplacementBlocked');
  const action = 'RollingUpdate';
  if (blocked?.status === 'True')
    return before ? [] : [{ type: 'Warning', reason: 'ReplacementBlocked', action, note: blocked.message }];
  const note = 'Workers of an old template can be replaced again, or none is left.';
  return before ? [{ type: 'Normal', reason: 'ReplacementBlocked', action, note }] : [];
}

/** What the loop has to know about one type of action. The effect itself stands in `act.ts`. */
interface ActionRow<A> {
  /** Position in a reconcile: what ends costs comes first, what begins new ones last. */
  rank(action: A): number;
  /** Equal for the same action in a later reconcile. */
  key(action: A): string;
  /** The action in words, for people. */
  text(action: A): string;
  /** The worker as clients reach it from now on: it takes no new requests, or none at all. */
  leaving?(action: A): 'finishes' | 'gone' | undefined;
  /** A worker that the copy missed would be paid for beside a new one, or would bill on after its group. */
  readonly needsAllWorkers?: true;
  /** It spends nothing and ends nothing: the status need not say it first. */
  readonly needsNoStatus?: true;
}

const ACTIONS: { readonly [T in Action['type']]: ActionRow<Extract<Action, { type: T }>> } = {
  create: {
    rank: () => 3,
    key: ({ ordinal }) => `create ${ordinal}`,
    text: () => 'Making a worker',
    needsAllWorkers: true,
  },
  order: {
    rank: ({ order }) => (order.desiredRole === 'Hot' ? 2 : 0),
    key: ({ worker, order }) => `order ${worker.name} ${order.desiredRole} ${order.powerState}`,
    text: ({ worker, order }) =>
      `${order.desiredRole === 'Hot' ? 'Waking' : 'Stopping'} worker ${worker.name}`,
    leaving({ order: { desiredRole, drainSince } }) {
      if (desiredRole === 'Hot') return undefined;
      return drainSince === undefined ? 'gone' : 'finishes';
    },
  },
  update: {
    rank: () => 1,
    key: ({ worker }) => `update ${worker.name}`,
    text: ({ worker }) => `Updating worker ${worker.name} to the template`,
  },
  delete: {
    rank: () => 0,
    key: ({ worker }) => `delete ${worker.name}`,
    text: ({ worker }) => `Deleting worker ${worker.name}`,
    leaving: () => 'gone',
  },
  // The report belongs to the deletion of the worker.
  reportHostFailure: {
    rank: () => 0,
    key: ({ worker }) => `delete ${worker.name}`,
    text: ({ worker }) => `Deleting worker ${worker.name}`,
  },
  adopt: {
    rank: () => 1,
    key: ({ object }) => `adopt ${object.metadata.name}`,
    text: ({ object }) => `Taking in ${object.metadata.name}`,
    needsNoStatus: true,
  },
  release: {
    rank: () => 0,
    key: () => 'release',
    text: () => 'Releasing the group',
    needsAllWorkers: true,
  },
};

const rowOf = ({ type }: Action): ActionRow<Action> => ACTIONS[type] as ActionRow<Action>;

/** The action in words, for people. */
export const actionText = (action: Action): string => rowOf(action).text(action);

/** Equal for the same action in a later reconcile. */
export const actionKey = (action: Action): string => rowOf(action).key(action);

/** True if the API server has to confirm that the group has no workers but those that were counted. */
export const needsAllWorkers = (action: Action): boolean => rowOf(action).needsAllWorkers === true;

/** True if the status has to be written before the action, whether or not its figures have moved. */
export const needsStatus = (action: Action): boolean => rowOf(action).needsNoStatus !== true;

/** Sorts so that what ends costs comes first, and what begins new ones last. */
export function cheapestFirst(actions: readonly Action[]): readonly Action[] {
  return [...actions].sort((a, b) => rowOf(a).rank(a) - rowOf(b).rank(b));
}

/** Workers that leave by these actions, by name; `finishes` if the worker still has requests. */
export function leavingBy(actions: readonly Action[]): ReadonlyMap<string, 'finishes' | 'gone'> {
  return new Map(
    actions.flatMap((action) => {
      const leaving = rowOf(action).leaving?.(action);
      return leaving && 'worker' in action ? [[action.worker.name, leaving] as const] : [];
    }),
  );
}

/** The chosen changes that these actions bring about. */
export function changesOf(actions: readonly Action[]): readonly Change[] {
  return actions.flatMap((action) => ('change' in action && action.change ? [action.change] : []));
}
