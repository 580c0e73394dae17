import type { Agreement } from '../../accounts/beliefs/sightings.ts';
import { isBelow } from '../../accounts/beliefs/utilization.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { IdlePolicy } from '../../instance/idle.ts';
import { isRecorded } from '../../instance/machine-state.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { parseTime } from '../../lib/time.ts';
import type { CompleteList } from '../../market/feed-state.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { findCondition } from '../../runtime/conditions.ts';
import { deriveFacts } from './facts.ts';
import { MachineIndex, ObjectMemory, SteadyClock } from './memory.ts';
import { type OtherObjects, observeSnapshot, type Snapshot } from './observe.ts';
import { decideWithReads, type Reader } from './reads.ts';
import { classify, type Stage } from './stage.ts';
import type { AccountFacts, Action, Decision, Refusal } from './types.ts';

/** Next decision of the operator for an object, based on the data read here. */
export interface Explained {
  readonly stage: Stage;
  readonly decision: Decision;
  /** Reads that the rules requested on the way, e.g. `offers`. */
  readonly reads: readonly string[];
}

/** An explanation, and the next time at which the operator acts if the marketplace's data does not change. */
export interface Forecast {
  readonly inMs: number;
  readonly actions: readonly Action[];
}

/** Reason why an account has no room for a purchase or start. */
interface AccountRefusal {
  readonly reason: Refusal['reason'];
  readonly message: string;
  readonly retryAfterMs: number;
}

/** Inputs of an explanation, in place of the operator's caches and memory. */
export interface ExplainDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly identity: Identity;
  /** The times that the operator runs with. */
  readonly constants: PurchaseConstants;
  /** The account that the object names, and its only known list. */
  readonly account: AccountFacts;
  readonly list: CompleteList;
  /** Reason why the account may not be used now; undefined if it may. */
  readonly notReady?: { readonly reason: string; readonly message: string } | undefined;
  /** True if the object's namespace may use the account. */
  readonly isAllowed: boolean;
  readonly others: OtherObjects;
  /** Reads the cluster and the marketplace directly. */
  readonly reader: Reader;
  /** Answer of the account to the purchase or start of a decision; undefined if it has room. */
  readonly refusalOf: (decision: Decision) => AccountRefusal | undefined;
}

/**
 * Runs the operator's own observe and decide on one object. Nothing is recorded or changed. Rejects if the reader
 * does.
 */
export async function explainInstance(object: GpuInstance, deps: ExplainDeps): Promise<Explained> {
  return explainAt(object, deps, 0);
}

/**
 * Limits of a forecast: the operator plans at most a month ahead, with a limited number of decisions that only wait.
 */
const MAX_FORECAST_MS = 31 * 86_400_000;
const MAX_WAITS = 6;
/** Interval after which a decision that waits for a list is repeated with the next one. */
const NEXT_LIST_MS = 10_000;

/**
 * Returns the operator's next action on an object for which `explained` has none. It applies the same rules at the
 * times to which they postpone the decision, with an unchanged list. Undefined if no action follows from time alone.
 * Rejects like {@link explainInstance}.
 */
export async function forecast(
  object: GpuInstance,
  deps: ExplainDeps,
  explained: Explained,
): Promise<Forecast | undefined> {
  let { decision } = explained;
  let inMs = 0;
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const { afterMs, onList } = decision.requeue;
    if (decision.actions.length > 0 || (afterMs === undefined && !onList)) break;
    inMs += Math.max(1, afterMs ?? NEXT_LIST_MS);
    if (inMs > MAX_FORECAST_MS) return undefined;
    ({ decision } = await explainAt(object, deps, inMs));
  }
  return inMs > 0 && decision.actions.length > 0 ? { inMs, actions: decision.actions } : undefined;
}

async function explainAt(object: GpuInstance, deps: ExplainDeps, inMs: number): Promise<Explained> {
  const { reader, refusalOf } = deps;
  const clock = later(deps.clock, inMs);
  const steady = new SteadyClock(clock);
  const memory = rememberedBy(object, deps, inMs);
  const explain = async (): Promise<Explained> => {
    const first = observeAt(object, { deps, memory, inMs });
    const { observed, decision, reads } = await decideWithReads(first, {
      reader,
      clocks: { clock, steady, session: undefined },
      // The operator writes the children: here they count as written.
      publish: async (seen) => {
        const { metadata, status } = seen.object;
        const bindingName = status?.binding?.name ?? `${metadata.name}-connection`;
        return { ...seen, machine: { ...seen.machine, published: { type: 'done', bindingName } } };
      },
    });
    return { stage: classify(deriveFacts(observed)), decision, reads };
  };
  const desired = await explain();
  const refusal = refusalOf(desired.decision);
  if (!refusal) return desired;
  const { reason, message: detail, retryAfterMs } = refusal;
  memory.refusedByAccount(steady.now(), retryAfterMs, { reason, detail });
  const refused = await explain();
  return { ...refused, reads: [...desired.reads, ...refused.reads] };
}

interface Moment {
  readonly deps: ExplainDeps;
  readonly memory: ObjectMemory;
  /** Milliseconds from now; negative for a moment in the past. */
  readonly inMs: number;
}

function observeAt(object: GpuInstance, { deps, memory, inMs }: Moment) {
  const clock = later(deps.clock, inMs);
  const steady = new SteadyClock(clock);
  return observeSnapshot(object, snapshotOf({ ...deps, clock }, { object, steady, inMs }), {
    memory,
    steady,
  });
}

/**
 * Returns the memory of an operator that has watched the object since its machine reported the present status, and has
 * seen the present list: its tolerances count from then.
 */
function rememberedBy(object: GpuInstance, deps: ExplainDeps, inMs: number): ObjectMemory {
  const memory = new ObjectMemory();
  const warnedAt = parseTime(findCondition(object.status?.conditions, 'Idle')?.lastTransitionTime);
  if (warnedAt !== undefined && object.status?.idle?.endsAt !== undefined)
    memory.warnedOfIdle(object.status.idle.since, new SteadyClock(deps.clock).fromWall(warnedAt));
  const { instanceId = '', actualStatusSince } = object.status ?? {};
  const row = deps.list.rows.get(instanceId);
  const since = parseTime(actualStatusSince);
  const sinceMs = since === undefined ? 0 : since - deps.clock.now();
  if (row && isRecorded(row, object.status) && sinceMs < 0)
    observeAt(object, { deps, memory, inMs: sinceMs });
  if (inMs > 0) observeAt(object, { deps, memory, inMs: 0 });
  return memory;
}

function later(clock: Clock, ms: number): Clock {
  return {
    now: () => clock.now() + ms,
    monotonic: () => clock.monotonic() + ms,
    setTimer: (delayMs, run, options) => clock.setTimer(delayMs, run, options),
  };
}

/** Idle time of a machine whose status reports it: the operator has seen the lists that prove it. */
const PROVEN_IDLE = { lists: Number.POSITIVE_INFINITY, covered: 1 };

/** Agreement by a single list: no other list can contradict it. */
const UNCONTESTED: Agreement = { heldMs: () => 0, spacingMs: 0 };

/**
 * Returns the snapshot of an operator that read an equal list a poll before, as the operator in the cluster has, and the
 * same list again `inMs` later.
 */
function snapshotOf(
  deps: ExplainDeps,
  {
    object,
    steady,
    inMs,
  }: { readonly object: GpuInstance; readonly steady: SteadyClock; readonly inMs: number },
): Snapshot {
  const { clock, random, constants, identity, isAllowed, others, account, notReady } = deps;
  const index = new MachineIndex(constants);
  const list = { ...deps.list, begunAt: deps.list.begunAt + inMs, endedAt: deps.list.endedAt + inMs };
  const begunSteady = steady.fromWall(list.begunAt);
  const firstSteady = steady.fromWall(deps.list.begunAt);
  const agreement = () => UNCONTESTED;
  const session = {
    facts: account,
    list,
    begunSteady,
    listsBegun: [
      begunSteady - constants.listLagMs,
      Math.min(firstSteady, begunSteady - constants.goneSpacingMs),
      begunSteady,
    ],
    absences: (id: string) => (list.rows.has(id) ? [] : [begunSteady]),
    labelled: (uid: string) => index.labelled({ identity, login: account.login, agreement }, list, uid),
    agreement,
    idle: (id: string, { below }: IdlePolicy) => {
      const since = parseTime(object.status?.idle?.since);
      const isIdle = since !== undefined && isBelow(list.rows.get(id), below);
      return isIdle ? { since: steady.fromWall(since), ...PROVEN_IDLE } : undefined;
    },
    place: undefined,
  };
  return {
    now: clock.now(),
    jitter: random.next(),
    constants,
    identity,
    account: notReady ? { type: 'notReady', ...notReady, session } : { type: 'ready', session },
    isAllowed,
    others,
  };
}
