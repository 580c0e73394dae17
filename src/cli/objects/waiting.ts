import {
  type ConditionType,
  endpointGroupConditions,
  gpuInstanceConditions,
  marketplaceAccountConditions,
  spendBudgetConditions,
} from '../../api/v1alpha1/conditions.ts';
import { endpointGroupPhases } from '../../api/v1alpha1/endpoint-group.ts';
import { gpuInstancePhases } from '../../api/v1alpha1/gpu-instance.ts';
import type { KindNames, OwnKind } from '../../api/v1alpha1/names.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { ageText } from '../../views/amounts.ts';
import type { CommandContext } from '../command.ts';
import { failed, timedOut, usageError } from '../command-error.ts';
import { createProgress } from '../output/output.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { absent } from './cluster-objects.ts';
import { conditionHolds, type Judged, type Progress, progressOf } from './kstatus.ts';
import { type ObjectName, shownName } from './object-name.ts';

const POLL_EVERY_MS = 1_000;

/** An object, and the state to wait for. */
export interface WaitedFor extends ObjectName {
  readonly goal: Goal;
}

/** An object that has reached its state. */
export interface Reached extends WaitedFor {
  /** Milliseconds. */
  readonly took: number;
}

/** Options of waiting for several objects. */
export interface Waiting {
  readonly cluster: ClusterSession;
  /** Time limit for all of them. */
  readonly timeoutMs: number;
  /** Called once for each object when it reaches its state. */
  readonly onReached: (reached: Reached) => Promise<void>;
}

/**
 * Polls until each object reaches its state. Rejects at the first one that cannot (stalled, or absent: exit code 3),
 * and with exit code 4 when the time is up.
 */
export async function waitForAll(
  waited: readonly WaitedFor[],
  waiting: Waiting,
  context: CommandContext,
): Promise<void> {
  const progress = createProgress(context);
  try {
    await pollAll(waited, { ...waiting, progress }, context);
  } finally {
    progress.clear();
  }
}

async function pollAll(
  waited: readonly WaitedFor[],
  {
    cluster,
    timeoutMs,
    onReached,
    progress,
  }: Waiting & { readonly progress: ReturnType<typeof createProgress> },
  { signal }: CommandContext,
): Promise<void> {
  const begun = systemClock.monotonic();
  let pending = waited;
  for (let polls = 0; pending.length > 0; polls += 1) {
    const judged = await Promise.all(pending.map((each) => judge(each, { cluster, isFirst: polls === 0 })));
    const took = systemClock.monotonic() - begun;
    const open: { readonly each: WaitedFor; readonly message: string }[] = [];
    for (const { each, result } of judged) {
      if (result === 'reached') {
        progress.clear();
        await onReached({ ...each, took });
      } else open.push({ each, message: await pendingMessage(each, result, cluster) });
    }
    const [first] = open;
    if (!first) return;
    const text = `${shownOf(first.each)}: ${first.message}`;
    if (took + POLL_EVERY_MS > timeoutMs) throw lateError(open, timeoutMs);
    progress.show(
      waited.length === 1 ? text : `${waited.length - open.length} of ${waited.length} done; ${text}`,
    );
    pending = open.map(({ each }) => each);
    await sleep(systemClock, POLL_EVERY_MS, signal);
  }
}

const shownOf = ({ resource, name }: ObjectName): string => shownName(resource, name);

interface Judgement {
  readonly each: WaitedFor;
  readonly result: ReturnType<Goal['judge']>;
}

async function judge(
  each: WaitedFor,
  { cluster, isFirst }: { readonly cluster: ClusterSession; readonly isFirst: boolean },
): Promise<Judgement> {
  const { resource, name, namespace = cluster.namespace, goal } = each;
  const result = await cluster.kube
    .get<Judged & KubeObject>(resource, { namespace, name })
    .then(goal.judge)
    .catch((error: unknown) => (isFirst ? Promise.reject(error) : unlessPassing(error)));
  return { each, result };
}

/** Returns the text about a pending object. Throws if its state can never be reached. */
async function pendingMessage(
  each: WaitedFor,
  result: Exclude<Judgement['result'], 'reached'>,
  cluster: ClusterSession,
): Promise<string> {
  const { resource, name, namespace = cluster.namespace } = each;
  const shown = shownOf(each);
  if (result === 'hopeless') throw await absent({ ...cluster, namespace }, resource, name);
  const message = result.state === 'Current' ? 'It matches its spec.' : result.message;
  if (result.state === 'Failed')
    throw failed(`${shown} is stalled: ${message}`, `Run gpu-rent status ${shown} for details.`);
  return message;
}

function lateError(
  open: readonly { readonly each: WaitedFor; readonly message: string }[],
  timeoutMs: number,
): Error {
  const [first] = open;
  const lines = open.map(
    ({ each, message }) =>
      `${shownOf(each)} was not ${each.goal.state} within ${ageText(timeoutMs)}: ${message}`,
  );
  return timedOut(lines.join('\n'), `Run gpu-rent explain ${first && shownOf(first.each)} to see why.`);
}

/**
 * Returns no progress for a temporary error: a short outage of the API server does not end a wait of twenty minutes.
 */
function unlessPassing(error: unknown): Progress {
  if (isKubeError(error, 'unavailable', 'throttled')) return { state: 'InProgress', message: error.message };
  throw error;
}

/** State to wait for. */
export interface Goal {
  /** State in words that fit after `is` and `was not`. */
  readonly state: string;
  /** Undefined: the object does not exist. */
  readonly judge: (object: Judged | undefined) => 'reached' | 'hopeless' | Progress;
}

/** Reads `--for` for an object of that kind; an unknown word would never become true. */
export function goalOf(text: string, kind: KindNames): Goal {
  const [what = '', name = '', value = 'True'] = text.split('=');
  switch (what.toLowerCase()) {
    case 'ready':
      return { state: 'ready', judge: judgeReady };
    case 'delete':
      return { state: 'gone', judge: (object) => (object ? progressOf(object) : 'reached') };
    case 'condition':
      return conditionGoal(
        knownName(name, Object.keys(CONDITIONS[kind.kind]), text),
        knownName(value, STATUSES, text),
      );
    case 'phase': {
      const phase = knownName(name, PHASES[kind.kind], text);
      const now = (object: Judged) => {
        const found = phaseOf(object);
        return found === undefined ? 'It has no phase yet.' : `Its phase is ${found}.`;
      };
      return { state: phase, judge: judging((object) => phaseOf(object) === phase, now) };
    }
    default:
      throw usageError(`--for: "${text}" is none of ready, delete, condition=Type[=Value], phase=Phase.`);
  }
}

const STATUSES = ['True', 'False', 'Unknown'];

const CONDITIONS: Readonly<Record<OwnKind, Readonly<Record<string, ConditionType>>>> = {
  MarketplaceAccount: marketplaceAccountConditions,
  GpuInstance: gpuInstanceConditions,
  EndpointGroup: endpointGroupConditions,
  SpendBudget: spendBudgetConditions,
};

const PHASES: Readonly<Record<OwnKind, readonly string[]>> = {
  MarketplaceAccount: [],
  GpuInstance: gpuInstancePhases,
  EndpointGroup: endpointGroupPhases,
  SpendBudget: [],
};

function knownName(name: string, names: readonly string[], text: string): string {
  const known = names.find((each) => each.toLowerCase() === name.toLowerCase());
  if (known !== undefined) return known;
  if (names.length === 0)
    throw usageError(`--for: "${text}": this kind has no phase.`, 'Wait for a condition.');
  throw usageError(`--for: "${text}": unknown name "${name}".`, `One of: ${names.join(', ')}.`);
}

function judgeReady(object: Judged | undefined): ReturnType<Goal['judge']> {
  if (!object) return 'hopeless';
  const progress = progressOf(object);
  return progress.state === 'Current' ? 'reached' : progress;
}

function conditionGoal(type: string, value: string): Goal {
  const now = ({ status }: Judged) => {
    const found = status?.conditions?.find((condition) => condition.type === type);
    return found
      ? `${type} is ${found.status} (${found.reason}): ${found.message}`
      : `It has no condition ${type}.`;
  };
  return {
    state: `${type}=${value}`,
    judge: judging((object) => conditionHolds(object, type, value), now),
  };
}

/** Returns the progress by a test. `now`: text for an object that matches its spec but not the state. */
function judging(holds: (object: Judged) => boolean, now: (object: Judged) => string): Goal['judge'] {
  return (object) => {
    if (!object) return 'hopeless';
    if (holds(object)) return 'reached';
    const progress = progressOf(object);
    const message = progress.state === 'Current' ? now(object) : progress.message;
    // A condition may become true on a stalled object as well: only time ends that wait.
    const state = progress.state === 'Terminating' ? progress.state : 'InProgress';
    return { state, message };
  };
}

function phaseOf({ status }: Judged): string | undefined {
  const phase = status && 'phase' in status ? status.phase : undefined;
  return typeof phase === 'string' ? phase : undefined;
}
