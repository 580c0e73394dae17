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

/** Time in which a worker may still receive requests after it left the Service. */
const SETTLE_MS = 2000;

export interface OrdersInput {
  readonly workers: readonly Worker[];
  readonly load: LoadView;
  readonly now: number;
  readonly maxQueueMs: number;
  /** Maximum time for a leaving worker to finish its requests. */
  readonly drainMs: number;
  /** True if `wakeTimeout` is at least the default, so that a failing host counts for other namespaces too. */
  readonly isWakeTimeoutLong?: boolean;
  /** Age from which a report no longer counts for the requests of a worker. */
  readonly silentMs: number;
  /** Returns true if a worker, even a leaving one, has the name of this number. */
  readonly isTaken: (ordinal: number) => boolean;
  /** Time after the worker left the Service from which a report counts its remaining requests. */
  readonly settleMs?: number;
}

/** Returns the actions that carry out the chosen changes. */
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
      // A broken image fails on every host, so the report about the host counts only for this group.
      const failure = isLate
        ? ({ reason: 'CannotStart', isForAll: isWakeTimeoutLong === true } as const)
        : ({ reason: 'WorkersFailing', isForAll: false } as const);
      return [
        // The replacement avoids the host for a while.
        ...(isLate || why === 'Broken' ? [{ type: 'reportHostFailure', worker, ...failure } as const] : []),
        isLate || !mayWork(worker)
          ? { type: 'delete', worker, change }
          : { type: 'order', worker, order: { ...leaveOrder(worker, now), desiredRole: 'Gone' }, change },
      ];
    }
  }
}

/** Returns true if the worker may have requests: it serves, or it drains and runs. */
function mayWork({ isServing, isUp, drainSince }: Worker): boolean {
  return isServing || (isUp && drainSince !== undefined);
}

function leaveOrder(worker: Worker, now: number): Omit<WorkerOrder, 'desiredRole'> {
  const { powerState } = worker;
  const drainSince = mayWork(worker) ? (worker.drainSince ?? now) : undefined;
  return { powerState, drainSince, wokenAt: undefined };
}

/** Stops or deletes drained workers. Skips workers that change now, since their earlier order no longer applies. */
export function afterDraining(input: OrdersInput, changes: readonly Change[]): readonly Action[] {
  const changed = new Set(changes.flatMap((change) => (change.type === 'rent' ? [] : [change.name])));
  const draining = input.workers.filter(
    ({ name, isDeleting, isOnHold }) => !isDeleting && !isOnHold && !changed.has(name),
  );
  return draining.flatMap((worker): readonly Action[] => {
    const { powerState, desiredRole, drainSince, isServing } = worker;
    const drains = desiredRole !== 'Hot' && mayWork(worker) && drainSince !== undefined;
    // The clock was set back: the drain would last until the clock catches up.
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
 * Returns true if the worker has no requests: it reported none after it left the Service, or it is silent and the
 * maximum queue time has passed. A worker that reports requests has until `drainTimeout`.
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

/** Returns the server-side apply patch with the fields of a worker that the group owns. */
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

/** Event of one kind of change, for a number of workers. */
interface ChangeEvent extends Omit<EventNote, 'note'> {
  readonly counts: (change: Change) => boolean;
  readonly note: (count: number) => string;
}

const workers = (count: number): string => counted(count, 'worker');

const isDestroyed = (why: string) => (change: Change) => change.type === 'destroy' && change.why === why;
const isRented = (role: string) => (change: Change) => change.type === 'rent' && change.desiredRole === role;

const CHANGE_EVENTS: readonly ChangeEvent[] = [
  {
    counts: ({ type }) => type === 'wake',
    ...{ type: 'Normal', reason: 'WorkersWoken', action: 'ScaleUp' },
    note: (count) => `Waking ${counted(count, 'cold worker')}.`,
  },
  {
    counts: isRented('Hot'),
    ...{ type: 'Normal', reason: 'WorkersAdded', action: 'ScaleUp' },
    note: (count) => `Added ${counted(count, 'hot worker')}.`,
  },
  {
    counts: isRented('Cold'),
    ...{ type: 'Normal', reason: 'WorkersAdded', action: 'ScaleUp' },
    note: (count) => `Added ${counted(count, 'cold worker')}.`,
  },
  {
    counts: ({ type }) => type === 'park',
    ...{ type: 'Normal', reason: 'WorkersParked', action: 'ScaleDown' },
    note: (count) => `Draining ${workers(count)} to stop ${agreeing(count, 'it', 'them')}.`,
  },
  {
    counts: isDestroyed('Ended'),
    ...{ type: 'Normal', reason: 'WorkersRemoved', action: 'Replace' },
    note: (count) =>
      `Deleting ${workers(count)} whose ${agreeing(count, 'machine', 'machines')} ended without a replacement.`,
  },
  {
    counts: isDestroyed('OldPrice'),
    ...{ type: 'Normal', reason: 'WorkersReplaced', action: 'Replace' },
    note: (count) => `Replacing ${workers(count)}: no offer within an outdated price limit.`,
  },
  {
    counts: isDestroyed('BeyondCeiling'),
    ...{ type: 'Normal', reason: 'WorkersRemoved', action: 'ScaleDown' },
    note: (count) => `Deleting ${workers(count)} without a machine: maxSpendPerHour allows no more.`,
  },
  {
    counts: isDestroyed('Surplus'),
    ...{ type: 'Normal', reason: 'WorkersRemoved', action: 'ScaleDown' },
    note: (count) =>
      `Draining ${counted(count, 'surplus worker')} to delete ${agreeing(count, 'it', 'them')}.`,
  },
  {
    counts: isDestroyed('OldTemplate'),
    ...{ type: 'Normal', reason: 'WorkersReplaced', action: 'RollingUpdate' },
    note: (count) => `Replacing ${workers(count)} of an old template.`,
  },
  {
    counts: isDestroyed('Broken'),
    ...{ type: 'Warning', reason: 'WorkersReplaced', action: 'Replace' },
    note: (count) => `Replacing ${counted(count, 'failing worker')}.`,
  },
  {
    counts: isDestroyed('WakeTimedOut'),
    ...{ type: 'Warning', reason: 'CannotStart', action: 'Wake' },
    note: (count) => `Deleting ${workers(count)} that did not wake within wakeTimeout.`,
  },
];

/** Returns one event for each kind of change, with the number of workers; `because` is its last sentence. */
export function eventsFor(changes: readonly Change[], because: string): readonly EventNote[] {
  return CHANGE_EVENTS.flatMap(({ counts, note, ...event }) => {
    const count = changes.filter(counts).length;
    return count === 0 ? [] : [{ ...event, note: `${note(count)} ${because}` }];
  });
}

/** Returns a warning if no program runs in the container of a worker, once for each generation. */
export function startEvents({ metadata, spec, status }: EndpointGroup): readonly EventNote[] {
  if (status?.observedGeneration === metadata.generation) return [];
  const note = nothingStarts(spec.template.spec);
  return note === undefined ? [] : [{ type: 'Warning', reason: 'InvalidSpec', action: 'Renting', note }];
}

/** Returns an event when the rollout of a template becomes blocked, and one when it continues. */
export function blockEvents({ status }: EndpointGroup, next: EndpointGroupStatus): readonly EventNote[] {
  const before = findCondition(status?.conditions, 'ReplacementBlocked')?.status === 'True';
  const blocked = findCondition(next.conditions, 'ReplacementBlocked');
  const action = 'RollingUpdate';
  if (blocked?.status === 'True')
    return before ? [] : [{ type: 'Warning', reason: 'ReplacementBlocked', action, note: blocked.message }];
  const note = 'The rollout is no longer blocked.';
  return before ? [{ type: 'Normal', reason: 'ReplacementBlocked', action, note }] : [];
}

/** Properties of one type of action. `act.ts` contains the effects. */
interface ActionRow<A> {
  /** Returns the position in a reconcile: removals first, creations last. */
  rank(action: A): number;
  /** Returns a key that the same action has in a later reconcile. */
  key(action: A): string;
  /** Returns the action as an infinitive, for messages. */
  text(action: A): string;
  /** Returns how the worker leaves: after its requests have finished, or immediately. */
  leaving?(action: A): 'finishes' | 'gone' | undefined;
  /** True if a worker missing in the cache would be rented twice, or billed after its group is deleted. */
  readonly needsAllWorkers?: true;
  /** True for an action that spends and ends nothing, so the status need not precede it. */
  readonly needsNoStatus?: true;
}

const ACTIONS: { readonly [T in Action['type']]: ActionRow<Extract<Action, { type: T }>> } = {
  create: {
    rank: () => 3,
    key: ({ ordinal }) => `create ${ordinal}`,
    text: () => 'create a worker',
    needsAllWorkers: true,
  },
  order: {
    rank: ({ order }) => (order.desiredRole === 'Hot' ? 2 : 0),
    key: ({ worker, order }) => `order ${worker.name} ${order.desiredRole} ${order.powerState}`,
    text: ({ worker, order }) => `${order.desiredRole === 'Hot' ? 'wake' : 'stop'} worker ${worker.name}`,
    leaving({ order: { desiredRole, drainSince } }) {
      if (desiredRole === 'Hot') return undefined;
      return drainSince === undefined ? 'gone' : 'finishes';
    },
  },
  update: {
    rank: () => 1,
    key: ({ worker }) => `update ${worker.name}`,
    text: ({ worker }) => `update worker ${worker.name} to the template`,
  },
  delete: {
    rank: () => 0,
    key: ({ worker }) => `delete ${worker.name}`,
    text: ({ worker }) => `delete worker ${worker.name}`,
    leaving: () => 'gone',
  },
  // The report belongs to the deletion of the worker.
  reportHostFailure: {
    rank: () => 0,
    key: ({ worker }) => `delete ${worker.name}`,
    text: ({ worker }) => `delete worker ${worker.name}`,
  },
  adopt: {
    rank: () => 1,
    key: ({ object }) => `adopt ${object.metadata.name}`,
    text: ({ object }) => `adopt worker ${object.metadata.name}`,
    needsNoStatus: true,
  },
  release: {
    rank: () => 0,
    key: () => 'release',
    text: () => 'remove the finalizer of the group',
    needsAllWorkers: true,
  },
};

const rowOf = ({ type }: Action): ActionRow<Action> => ACTIONS[type] as ActionRow<Action>;

/** Returns the action as an infinitive, for messages: `delete worker llm-0`. */
export const actionText = (action: Action): string => rowOf(action).text(action);

/** Returns a key that the same action has in a later reconcile. */
export const actionKey = (action: Action): string => rowOf(action).key(action);

/** Returns true if the API server must confirm that the group has no other workers. */
export const needsAllWorkers = (action: Action): boolean => rowOf(action).needsAllWorkers === true;

/** Returns true if the status must be written before the action, even if its figures are unchanged. */
export const needsStatus = (action: Action): boolean => rowOf(action).needsNoStatus !== true;

/** Sorts actions: removals first, creations last. */
export function cheapestFirst(actions: readonly Action[]): readonly Action[] {
  return [...actions].sort((a, b) => rowOf(a).rank(a) - rowOf(b).rank(b));
}

/** Returns the workers that leave by these actions, by name; `finishes` if the worker still has requests. */
export function leavingBy(actions: readonly Action[]): ReadonlyMap<string, 'finishes' | 'gone'> {
  return new Map(
    actions.flatMap((action) => {
      const leaving = rowOf(action).leaving?.(action);
      return leaving && 'worker' in action ? [[action.worker.name, leaving] as const] : [];
    }),
  );
}

/** Returns the changes that these actions carry out. */
export function changesOf(actions: readonly Action[]): readonly Change[] {
  return actions.flatMap((action) => ('change' in action && action.change ? [action.change] : []));
}
