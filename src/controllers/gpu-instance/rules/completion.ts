import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { totalCost } from '../../../instance/cost.ts';
import {
  cancelAt,
  expiresAt,
  isAtLostLimit,
  isRun,
  maxLifetimeOf,
  outcomeOf,
  type RunResult,
  type RunStatus,
  retryAt,
  settledReason,
  settledRun,
  stopGraceMs,
} from '../../../instance/run.ts';
import { omitUndefined } from '../../../lib/json.ts';
import { parseDollars } from '../../../lib/money.ts';
import { counted } from '../../../lib/plural.ts';
import { formatTime, parseTime } from '../../../lib/time.ts';
import { findCondition } from '../../../runtime/conditions.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { billedNow } from '../billing.ts';
import { conditionState } from '../conditions.ts';
import { type Added, decision, type Rule, type StatusDecision } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { isToStop, limitToApply, nextDeadline } from '../limits.ts';
import { carriedFields } from '../machine-fields.ts';
import type { MachineState, Stage } from '../stage.ts';
import type { ConditionState, Decision, Requeue, RunResultView, StatusFields, Step } from '../types.ts';
import { canStop } from '../unsupported.ts';
import { askToStop, confirmationOf, endMachine, type PlannedEnd, showBlockedEnd } from './ending.ts';
import { type Listed, machineFinding, type RecordedMachine, seenFields } from './machine-finding.ts';

// Result of a machine

/** Time for which the operator searches for the result of a machine that ended by itself. */
const COLLECT_MS = 600_000;
/** The same for an interruptible machine, which another customer may have outbid. */
const OUTBID_MS = 120_000;
/** The same while the marketplace answers no read. */
const UNANSWERED_MS = 3_600_000;
const RECHECK_MS = 30_000;

/** Rule that precedes every end of a machine of a run. */
export const SETTLE_RUN: Rule<RecordedMachine<Listed>> = {
  name: 'collect-result',
  because: 'The program of the run may have ended; its machine ends only after its result is on record.',
  decide: whileUnsettled,
};

/**
 * Returns the step that finds and records the result of a machine of a run; undefined if its program goes on, or its
 * result is on record.
 */
function whileUnsettled(facts: HeldFacts, recorded: RecordedMachine<Listed>): Step | undefined {
  const { object, machine } = facts;
  if (!isRun(object) || outcomeOf(object) !== undefined) return undefined;
  if (settledReason(object, recorded.machine.attempt) !== undefined) return undefined;
  if (isCancelDue(facts)) return settle(facts, recorded, { type: 'ended', reason: 'Cancelled' });
  const view = machine.runResult;
  if (view?.type === 'found') {
    const { exitCode, message, log } = view;
    return settle(facts, recorded, { type: 'exited', exitCode, message, log });
  }
  return collect(facts, recorded, view);
}

/**
 * Returns true if the annotation cancels the run now, by the clock that also ends `maxLifetime`: the operator's wall
 * clock may be an hour ahead, and an early end loses work.
 */
function isCancelDue({ object, clock }: Pick<Facts, 'object' | 'clock'>): boolean {
  const at = cancelAt(object);
  return typeof at === 'number' && at <= clock.believedNow;
}

/**
 * Searches for the result of a machine that ended by itself. A machine that the operator has stopped is read once, since
 * its program may have ended at the same time.
 */
function collect(
  facts: HeldFacts,
  recorded: RecordedMachine<Listed>,
  view: RunResultView | undefined,
): Step | undefined {
  const { run = {} } = facts.object.status ?? {};
  if (!isSearched(recorded.state, run)) return undefined;
  if (run.collectingSince === undefined && (isToStop(facts) || run.stopped)) {
    return isToStop(facts) || view?.type === 'none' ? undefined : searching(facts, recorded, run);
  }
  const lost = giveUp(facts, recorded, view);
  const collectingSince = run.collectingSince ?? formatTime(facts.clock.now);
  return lost ?? searching(facts, recorded, { ...run, collectingSince });
}

/** Returns true if the state of the machine may show that its program has ended. */
function isSearched(state: MachineState, { collectingSince }: RunStatus): boolean {
  if (state.type === 'failing') return state.reason === 'Exited' || collectingSince !== undefined;
  return state.type === 'stopped';
}

/**
 * Returns the end of the search without a result; undefined while the search goes on. A market that refuses every read
 * never ends a round: the machine may bill meanwhile, and the time alone bounds the search.
 */
function giveUp(
  facts: HeldFacts,
  recorded: RecordedMachine<Listed>,
  view: RunResultView | undefined,
): Step | undefined {
  const isAnswered = view?.type === 'none' && view.isAnswered;
  const { row } = recorded.state;
  const isOutbid = recorded.state.type === 'stopped' && row.interruptible === true;
  const limitMs = isAnswered ? (isOutbid ? OUTBID_MS : COLLECT_MS) : UNANSWERED_MS;
  if (row.unsettled.has('state') || searchedMs(facts) < limitMs) return undefined;
  const { machine } = recorded;
  if (isOutbid && isAnswered)
    return endMachine(facts, {
      ...{ machine, reason: 'SoldToOther', kind: 'lost' },
      finding: machineFinding(facts, recorded.state),
    });
  const confirmation = confirmationOf(facts, { machine, reason: 'ResultUnknown' });
  if (confirmation === 'unconfirmed') return undefined;
  return confirmation === 'confirmed' ? settle(facts, recorded, { type: 'unknown' }) : confirmation;
}

function searchedMs({ object, clock }: Pick<Facts, 'object' | 'clock'>): number {
  const since = parseTime(object.status?.run?.collectingSince);
  return since === undefined ? 0 : cautiousNow(clock) - since;
}

/** Returns the earlier clock: a wall clock that jumps ahead ends no search and deletes no object. */
function cautiousNow({ confirmedNow, now, steadyNow }: Facts['clock']): number {
  return confirmedNow ?? Math.min(now, steadyNow);
}

function searching(facts: HeldFacts, recorded: RecordedMachine<Listed>, run: RunStatus): Decision {
  const { state, machine } = recorded;
  const detail = `Machine ${machine.instanceId} stopped by itself: reading the result of its program.`;
  const left = [OUTBID_MS, COLLECT_MS, UNANSWERED_MS].map((limitMs) => limitMs - searchedMs(facts));
  return decision({
    fields: { ...seenFields(facts, state.row), run },
    finding: {
      phase: state.type === 'failing' ? 'Lost' : 'Stopped',
      ...{ reason: 'ResultUnknown', detail },
      machine: machineFinding(facts, state),
    },
    requeue: { onList: true, afterMs: Math.min(...left.filter((ms) => ms > 0), RECHECK_MS) },
  });
}

/** Records the result. The machine ends in a later reconcile: then the result cannot be lost any more. */
function settle(facts: HeldFacts, recorded: RecordedMachine<Listed>, result: RunResult): Decision {
  const { object, clock } = facts;
  const { attempt, instanceId } = recorded.machine;
  const run = settledRun(object, { attempt, result, now: clock.now });
  const after = { ...object, status: { ...object.status, run } };
  const reason = settledReason(after, attempt) ?? 'ResultUnknown';
  const detail = resultText({ ...facts, object: after }, reason);
  return {
    ...decision({
      fields: { ...seenFields(facts, recorded.state.row), run },
      finding: {
        phase: 'Stopping',
        ...{ reason, detail },
        machine: machineFinding(facts, recorded.state),
        atWork: { reason: 'Stopping', detail: `Machine ${instanceId} has no more work.` },
      },
      record: { type: 'status' },
      events: [resultEvent(facts, reason, detail)],
      requeue: { afterMs: 0 },
    }),
    ...(run.outcome !== undefined && { finishesRun: reason }),
  };
}

function resultEvent(
  { object }: Pick<Facts, 'object'>,
  reason: Reason,
  detail: string | undefined,
): EventNote {
  const { instanceId } = object.status ?? {};
  const machine = instanceId === undefined ? '' : ` Machine ${instanceId}.`;
  const type = reason === 'Completed' ? 'Normal' : 'Warning';
  const { message } = conditionState('True', reason, detail);
  return { type, reason, action: 'Running', note: `${detail ?? message}${machine}` };
}

/** Returns the result of the run with its figures; undefined if the sentence of the catalogue is enough. */
function resultText(facts: Pick<Facts, 'object' | 'clock'>, reason: Reason): string | undefined {
  const { spec, status } = facts.object;
  const { exitCode, failed = 0, lost = 0, finishedAt } = status?.run ?? {};
  const { backoffLimit = 0, lostLimit } = spec.completion ?? {};
  switch (reason) {
    case 'RunFailed':
      return `The program ended with exit code ${exitCode} (attempt ${failed} of ${backoffLimit + 1}).`;
    case 'BackoffLimit':
      return failed > backoffLimit
        ? `The program ended with exit code ${exitCode} (attempt ${failed} of ${backoffLimit + 1}).`
        : `The program ended with exit code ${exitCode}, which is not in completion.retryCodes.`;
    case 'LostLimit':
      return `${counted(lost, 'machine')} lost; completion.lostLimit is ${lostLimit}.`;
    case 'DeadlineExceeded':
      return deadlineText(facts, parseTime(finishedAt) ?? facts.clock.believedNow);
    case 'Cancelled': {
      const at = cancelAt(facts.object);
      return typeof at === 'number' ? `The run was cancelled at ${formatTime(at)}.` : undefined;
    }
    default:
      return undefined;
  }
}

function deadlineText({ object: { spec, status } }: Pick<Facts, 'object'>, finishedAt: number): string {
  const maxTotalCost = parseDollars(spec.maxTotalCost) ?? Number.POSITIVE_INFINITY;
  return totalCost(status?.cost, finishedAt) >= maxTotalCost
    ? `spec.maxTotalCost of $${spec.maxTotalCost} is spent.`
    : `spec.maxLifetime of ${maxLifetimeOf(spec)} is over.`;
}

// End of a machine

/** Returns the end of a machine whose result is on record, or whose run is over. */
export function runEnd(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  { machine, state }: RecordedMachine<Listed>,
): PlannedEnd | undefined {
  const { object } = facts;
  if (!isRun(object)) return undefined;
  const reason = settledReason(object, machine.attempt) ?? outcomeOf(object);
  if (!isEndReason(reason)) return undefined;
  const detail = resultText(facts, reason);
  return { machine, reason, detail, kind: 'finished', finding: machineFinding(facts, state) };
}

const END_REASONS = {
  Completed: true,
  RunFailed: true,
  ResultUnknown: true,
  BackoffLimit: true,
  LostLimit: true,
  DeadlineExceeded: true,
  Cancelled: true,
} as const;

function isEndReason(reason: Reason | undefined): reason is keyof typeof END_REASONS {
  return reason !== undefined && Object.hasOwn(END_REASONS, reason);
}

type Treatment = 'Destroy' | 'Stop' | 'Keep';

const BY_DELETION_POLICY = { Destroy: 'Destroy', Stop: 'Stop', Retain: 'Keep' } as const;

/** Returns the treatment of the machine after this result. Only the last machine of a run may stay. */
function treatmentOf({ object: { spec } }: Pick<Facts, 'object'>, reason: Reason): Treatment {
  const { onSuccess = 'Destroy', onFailure = 'Destroy' } = spec.completion ?? {};
  switch (reason) {
    case 'Completed':
      return onSuccess;
    case 'BackoffLimit':
    case 'LostLimit':
      return onFailure;
    case 'DeadlineExceeded':
      return BY_DELETION_POLICY[spec.deletionPolicy];
    default:
      return 'Destroy';
  }
}

/** Ends a machine without work as `completion` says. A machine that stays is shown, until a limit ends it. */
export function carryOutRunEnd(
  facts: HeldFacts,
  planned: PlannedEnd,
  recorded: RecordedMachine<Listed>,
): Step | undefined {
  const treatment = treatmentOf(facts, planned.reason);
  if (treatment === 'Destroy') {
    const blocked = showBlockedEnd(facts, planned);
    return blocked ?? stopFirst(facts, planned, recorded) ?? endMachine(facts, planned);
  }
  if (limitToApply(facts).type === 'reached' && planned.reason !== 'DeadlineExceeded') return undefined;
  const { type, row } = recorded.state;
  // A host without contact cannot show the stop that the marketplace has accepted.
  const isStopped = type === 'stopped' || (type === 'failing' && row.intendedPower === 'stopped');
  if (treatment === 'Stop' && !isStopped && canStop(facts)) return stopping(facts, planned, recorded);
  return keptAfterRun(facts, planned, recorded);
}

/**
 * Returns the stop of a machine whose program still runs, which then may save its work within `completion.stopGrace`.
 * Undefined if the program has ended, the time is over, or the machine cannot be stopped.
 */
function stopFirst(
  facts: HeldFacts,
  planned: PlannedEnd,
  recorded: RecordedMachine<Listed>,
): Decision | undefined {
  const hasProgram = planned.reason === 'Cancelled' || planned.reason === 'DeadlineExceeded';
  const isLeft = hasProgram && recorded.state.type === 'running' && isGraceLeft(facts);
  return isLeft ? stopping(facts, planned, recorded) : undefined;
}

/** Returns true while a running machine is stopped before it is destroyed. A stop that fails costs no more time. */
export function isGraceLeft(facts: Pick<Facts, 'object' | 'account' | 'clock' | 'memory'>): boolean {
  const { memory, clock, object } = facts;
  const graceMs = stopGraceMs(object);
  if (graceMs === 0 || !canStop(facts)) return false;
  if (memory.stopAskedAt === undefined) return memory.failures === 0;
  return clock.steadyNow < memory.stopAskedAt + graceMs;
}

function stopping(facts: HeldFacts, planned: PlannedEnd, recorded: RecordedMachine<Listed>): Decision {
  const { reason, detail, finding, machine } = planned;
  const { actions, requeue } = askToStop(facts, machine.instanceId);
  const stopsInMs = graceLeftMs(facts);
  return decision({
    fields: seenFields(facts, recorded.state.row),
    finding: {
      phase: 'Stopping',
      ...{ reason, detail, machine: finding },
      atWork: { reason: 'Stopping', detail: `Stopping machine ${machine.instanceId}.` },
    },
    record: { type: 'status' },
    actions,
    requeue: { ...requeue, onList: true, afterMs: Math.min(requeue.afterMs ?? stopsInMs, stopsInMs) },
  });
}

/** Returns the milliseconds until a running machine is destroyed after its stop, at least a second. */
export function graceLeftMs({ memory, clock, object }: Pick<Facts, 'object' | 'clock' | 'memory'>): number {
  const graceMs = stopGraceMs(object);
  const { stopAskedAt = clock.steadyNow } = memory;
  return Math.max(1_000, stopAskedAt + graceMs - clock.steadyNow);
}

function keptAfterRun(
  facts: HeldFacts,
  { reason, detail, finding, machine }: PlannedEnd,
  recorded: RecordedMachine<Listed>,
): Decision {
  const price = billedNow(facts);
  const bills = price === undefined ? 'may still bill' : `bills $${price}/h`;
  const text = detail ?? conditionState('True', reason).message;
  return decision({
    fields: seenFields(facts, recorded.state.row),
    finding: {
      ...finalFinding(reason),
      detail: `${text} Machine ${machine.instanceId} is kept and ${bills}.`,
      machine: finding,
    },
    ...untilExpired(facts, nextDeadline(facts)),
  });
}

function finalFinding(reason: Reason): {
  readonly phase: 'Succeeded' | 'Failed';
  readonly reason: Reason;
  readonly ready: boolean;
} {
  const isSuccess = reason === 'Completed';
  return { phase: isSuccess ? 'Succeeded' : 'Failed', reason, ready: isSuccess };
}

/** Returns the deletion of the finished object when its time is over, else the reconcile at that time. */
function untilExpired(
  { object, clock }: Pick<Facts, 'object' | 'clock'>,
  requeue: Requeue = {},
): Pick<Decision, 'actions' | 'requeue' | 'record'> {
  const at = expiresAt(object);
  const leftMs = at === undefined ? undefined : at - cautiousNow(clock);
  const { phase } = object.status ?? {};
  const isShown = phase === 'Succeeded' || phase === 'Failed';
  const isDue = leftMs !== undefined && leftMs <= 0 && isShown;
  const afterMs = leftMs === undefined ? requeue.afterMs : Math.min(requeue.afterMs ?? leftMs, leftMs);
  return {
    record: { type: 'status' },
    actions: isDue ? [{ type: 'expire' }] : [],
    requeue: { ...requeue, ...(afterMs !== undefined && { afterMs: Math.max(1_000, afterMs) }) },
  };
}

/** Ends the run at a limit of the spec, by the proof that the end of any machine at its limit needs. */
export function endRunAtLimit(
  facts: HeldFacts,
  planned: PlannedEnd,
  recorded: RecordedMachine<Listed>,
): Step | undefined {
  const blocked = showBlockedEnd(facts, planned);
  if (blocked) return blocked;
  const confirmation = confirmationOf(facts, planned);
  if (confirmation === 'unconfirmed') return undefined;
  if (confirmation !== 'confirmed') return confirmation;
  return settle(facts, recorded, { type: 'ended', reason: 'DeadlineExceeded' });
}

// Without a machine

type Unrented = Extract<Stage, { type: 'unrented' }>;

/** Rule of an object without a machine that precedes every rental. */
export const RUN_OVER: Rule<Unrented> = {
  name: 'run-over',
  because: 'The run is over, so no other machine is rented.',
  decide: runOver,
};

/** Returns the end of a run without a machine; undefined if the run goes on, or the object is no run. */
function runOver(facts: Facts, { attempt }: Unrented): Decision | undefined {
  const { object } = facts;
  if (!isRun(object)) return undefined;
  const fields = { ...carriedFields(facts), ...(attempt > 0 && { attempt }) };
  if (outcomeOf(object) !== undefined) return finished(facts, fields);
  const reason = endWithoutMachine(facts);
  if (reason === undefined) return undefined;
  const run = settledRun(object, { result: { type: 'ended', reason }, now: facts.clock.now });
  const over = { ...facts, object: { ...object, status: { ...object.status, run } } };
  return {
    ...finished(over, { ...fields, run }),
    ...{ actions: [], requeue: { afterMs: 0 }, finishesRun: reason },
    events: [resultEvent(facts, reason, resultText(over, reason))],
  };
}

function endWithoutMachine(
  facts: Pick<Facts, 'object' | 'clock'>,
): 'Cancelled' | 'LostLimit' | 'DeadlineExceeded' | undefined {
  if (isCancelDue(facts)) return 'Cancelled';
  if (isAtLostLimit(facts.object)) return 'LostLimit';
  return limitToApply(facts).type === 'reached' ? 'DeadlineExceeded' : undefined;
}

/**
 * Returns the status of a finished run without a machine, whatever the state of its account; undefined before its end.
 */
export function finishedRun(
  facts: Pick<Facts, 'object' | 'purchase' | 'clock'>,
  stage: Stage,
): Decision | undefined {
  const isWithout = stage.type === 'unrented' || stage.type === 'withoutAccount' || stage.type === 'outside';
  const hasMachine = facts.object.status?.instanceId !== undefined;
  if (!isWithout || hasMachine || outcomeOf(facts.object) === undefined) return undefined;
  if (facts.purchase.openIntent && stage.type !== 'unrented') return undefined;
  const attempt = stage.type === 'unrented' ? stage.attempt : 0;
  const fields = { ...carriedFields(facts), ...(attempt > 0 && { attempt }) };
  return { ...finished(facts, fields), rule: RUN_OVER.name, because: RUN_OVER.because };
}

function finished(facts: Pick<Facts, 'object' | 'clock'>, fields: StatusFields): Decision {
  const outcome = outcomeOf(facts.object) ?? 'ResultUnknown';
  return decision({
    fields,
    finding: {
      ...finalFinding(outcome),
      detail: resultText(facts, outcome),
      machine: { type: 'none' },
    },
    ...untilExpired(facts),
  });
}

/** Returns the wait before another attempt after a failed one, in milliseconds; undefined if none is left. */
export function retryWait({ object, clock }: Pick<Facts, 'object' | 'clock'>): number | undefined {
  const until = retryAt(object) ?? 0;
  const settledAt = parseTime(object.status?.run?.settled?.at) ?? 0;
  // A clock that was set back must not make the wait longer.
  const leftMs = until - Math.max(settledAt, clock.now);
  return leftMs > 0 ? leftMs : undefined;
}

/** Returns the message of a run that waits for its next attempt. */
export function retryText(facts: Pick<Facts, 'object' | 'clock'>): string {
  const until = retryAt(facts.object) ?? facts.clock.now;
  return `${resultText(facts, 'RunFailed')} The next machine is rented after ${formatTime(until)}.`;
}

// Report

const GOES_ON = 'The run has not finished.';

/**
 * Returns the condition Succeeded of a run, its start, and the record of a stop by the operator. The condition is
 * settled when the run is over and its machine is ended or kept.
 */
export function addedRun(facts: HeldFacts, { status }: StatusDecision): Added<'Succeeded'> {
  const { object } = facts;
  if (!isRun(object)) return {};
  const { fields, verdict } = status;
  const run = runFields(facts, fields);
  const before = findCondition(object.status?.conditions, 'Succeeded');
  const outcome = outcomeOf({ spec: object.spec, status: { run } });
  return {
    fields: { ...fields, run },
    conditions: { Succeeded: succeeded(verdict, outcome, before) },
    events: invalidCancel(facts, fields),
  };
}

function succeeded(
  { phase, Ready }: Pick<StatusDecision['status']['verdict'], 'phase' | 'Ready'>,
  outcome: Reason | undefined,
  before: { readonly status: string; readonly reason: string; readonly message: string } | undefined,
): ConditionState {
  if (outcome === undefined) return { status: 'Unknown', reason: Ready.reason, message: GOES_ON };
  const isFinal = phase === 'Succeeded' || phase === 'Failed';
  const status = outcome === 'Completed' ? 'True' : 'False';
  if (isFinal) return { status, reason: outcome, message: Ready.message };
  if (before?.status === status && before.reason === outcome)
    return { status, reason: outcome, message: before.message };
  return { status: 'Unknown', reason: Ready.reason, message: GOES_ON };
}

/** Returns the run of the status, with facts that do not depend on the rule. */
function runFields(facts: HeldFacts, { run = {}, runningAt, instanceId }: StatusFields): RunStatus {
  const { startedAt = runningAt, stopped: wasStopped, collectingSince, ...rest } = run;
  const state = facts.machine.list?.recorded?.state;
  const isSame = instanceId !== undefined && instanceId === facts.object.status?.instanceId;
  const isRunning = isSame && state === 'running';
  const stops = isSame && isToStop(facts);
  const stopped = isSame && (stops ? wasStopped === true || state !== 'stopped' : wasStopped && !isRunning);
  return {
    ...rest,
    // Once the machine runs again, a list that showed it stopped proves nothing about its program.
    ...omitUndefined({ startedAt, collectingSince: isRunning ? undefined : collectingSince }),
    ...(stopped && { stopped: true }),
  };
}

/** Returns the event of a cancellation without a valid time, once for each machine and generation. */
function invalidCancel({ object }: Pick<Facts, 'object'>, fields: StatusFields): readonly EventNote[] {
  const isNew =
    object.status?.instanceId !== fields.instanceId ||
    object.status?.observedGeneration !== object.metadata.generation;
  if (cancelAt(object) !== 'invalid' || !isNew) return [];
  const note =
    'The annotation gpurental.dev/cancel-at is no time, so the run goes on. Set it to a time such as the present one: $(date -u +%FT%TZ).';
  return [{ type: 'Warning', reason: 'InvalidCancelAt', action: 'Running', note }];
}
