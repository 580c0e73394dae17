import { isBelow } from '../../../accounts/beliefs/utilization.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { reasons } from '../../../api/v1alpha1/reasons.ts';
import { idleEnd, idleExtension, idlePolicy } from '../../../instance/idle.ts';
import { asHandled } from '../../../instance/replace-request.ts';
import { formatTime, parseTime } from '../../../lib/time.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { conditionState } from '../conditions.ts';
import { type Added, type StatusDecision, sooner } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { type IdleFacts, type IdleState, idleStateOf, idleText, isIdleDue } from '../idle.ts';
import type { Confirmation } from '../record-proof.ts';
import type { ConditionState, StatusFields, Step } from '../types.ts';
import { cannotStop, canStop } from '../unsupported.ts';
import {
  blockedIdle,
  confirmationOf,
  decideStop,
  endMachine,
  type PlannedEnd,
  readConfirmation,
} from './ending.ts';
import { type Listed, machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';

// End

/** Name of the end of an idle machine, with the reason for it. */
export const IDLE_END = {
  name: 'idle',
  because: 'The GPUs were idle for spec.idle.after, and the warning is over.',
} as const;

/** Returns the end of a machine whose idle end is due; undefined if it is not due. */
export function idlePlanned(
  facts: IdleFacts,
  { machine, state }: RecordedMachine<Listed>,
): PlannedEnd | undefined {
  if (!isIdleDue(facts) || !canFollow(facts)) return undefined;
  const finding = machineFinding(facts, state);
  return { machine, reason: 'Idle', detail: idleText(facts), kind: 'idle', finding };
}

/** Returns true unless the action is Stop, and the market stops no machine. */
function canFollow(facts: Pick<Facts, 'object' | 'account'>): boolean {
  const { action } = facts.object.spec.idle ?? {};
  return action !== 'Stop' || canStop(facts);
}

/**
 * Stops or destroys a machine that is due for idleness. The end is on record before it begins, since the idle time is
 * in memory only. Undefined while a condition blocks the end, or a read does not confirm it: then the machine stays.
 */
export function endIdle(facts: HeldFacts, recorded: RecordedMachine<StateIn<'running'>>): Step | undefined {
  const planned = idlePlanned(facts, recorded);
  if (!planned || blockedIdle(facts)) return undefined;
  const confirmation = idleConfirmation(facts, planned);
  if (confirmation === 'unconfirmed') return undefined;
  if (confirmation !== 'confirmed') return confirmation;
  const { action } = facts.object.spec.idle ?? {};
  const step = action === 'Stop' ? decideStop(facts, recorded, planned.detail) : endMachine(facts, planned);
  return step && withEnd(facts, step);
}

/** Returns the confirmation by a read that shows the machine as idle, too: figures in lists may be old. */
function idleConfirmation(
  facts: Pick<Facts, 'object' | 'machine' | 'account'>,
  planned: PlannedEnd,
): Confirmation {
  const confirmation = confirmationOf(facts, planned);
  if (confirmation !== 'confirmed') return confirmation;
  const { below = 0 } = facts.object.spec.idle ?? {};
  return readConfirmation(facts, planned.machine.instanceId, (read) => isBelow(read, below));
}

/** Returns the step with the record of the end, which keeps the object without a running machine. */
function withEnd({ object, clock }: Pick<Facts, 'object' | 'clock'>, step: Step): Step {
  if (step.type !== 'decision' || !step.status) return step;
  const idleEndedAt = object.status?.idleEndedAt ?? formatTime(clock.now);
  return { ...step, status: { ...step.status, fields: { ...step.status.fields, idleEndedAt } } };
}

// Report

/** Interval of checks of an idle machine, which may be used again. */
const CHECK_MS = 60_000;
/** Minimum time until the next check. */
const MIN_CHECK_MS = 1_000;

/** Returns the step with the next check of the idle time, and with the announcement of an end to the breaker. */
export function withIdleCheck(facts: IdleFacts, step: Step): Step {
  const state = step.type === 'decision' ? idleStateOf(facts) : undefined;
  if (step.type !== 'decision' || !state) return step;
  return {
    ...step,
    requeue: sooner(step.requeue, { afterMs: nextCheckMs(state) }),
    ...(state.type === 'idle' && isAnnounced(facts, state) && { announcesEnd: true }),
  };
}

/**
 * Returns the idle time of the machine: the condition Idle with the next action and its time, and the event before an
 * end. Removes an idle time that is over, and the record of an end without effect.
 */
export function addedIdle(facts: IdleFacts, { status }: StatusDecision): Added<'Idle'> {
  const state = idleStateOf(facts);
  const { idle: _before, idleExtended: _handled, ...fields } = withoutPastEnd(facts, status.fields);
  const isSame = fields.instanceId === facts.object.status?.instanceId;
  const report = state?.type === 'idle' && isSame ? reportOf(facts, state) : undefined;
  const isEnded = fields.idleEndedAt !== undefined;
  return {
    fields: { ...fields, ...invalidExtension(facts), ...(report && { idle: report.fields }) },
    ...(report && { conditions: { Idle: report.condition } }),
    events: [...(state && isSame && !isEnded ? reportEvents(facts, report) : []), ...extensionEvents(facts)],
  };
}

type Idle = Extract<IdleState, { type: 'idle' }>;

interface Report {
  readonly fields: NonNullable<StatusFields['idle']>;
  readonly condition: ConditionState;
}

/** Returns the report on the idle time; undefined before it is long enough. */
function reportOf(facts: IdleFacts, state: Idle): Report | undefined {
  const { idle: before } = facts.object.status ?? {};
  if (reportedInMs(state) > 0 || !(state.isProven || before !== undefined)) return undefined;
  const since = recordedOr(before?.since, state.since);
  const endsAt =
    state.endsInMs === undefined ? undefined : recordedOr(before?.endsAt, facts.clock.now + state.endsInMs);
  const text = `GPU utilization below ${state.policy.below} % since ${since}.`;
  return {
    fields: { since, ...(endsAt !== undefined && { endsAt }) },
    condition: conditionState('True', 'Idle', `${text} ${followingText(facts, state, endsAt)}`),
  };
}

/** Returns true after the warning of an end, even while a person blocks the end. */
function isAnnounced(facts: Pick<Facts, 'object' | 'account'>, state: Idle): boolean {
  return facts.object.status?.idle?.endsAt !== undefined && state.endsInMs !== undefined && canFollow(facts);
}

/** Returns the time until the report: the end of `after` with Report, else the warning before it. */
function reportedInMs({ policy, leftMs, extendedMs }: Idle): number {
  return policy.action === 'Report' ? Math.max(leftMs, extendedMs) : leftMs - policy.warningMs;
}

/** Returns the recorded time if it is about the same: then no pass writes the status for it. */
function recordedOr(recorded: string | undefined, present: number): string {
  const before = parseTime(recorded) ?? Number.NEGATIVE_INFINITY;
  return formatTime(Math.abs(before - present) < CHECK_MS ? before : present);
}

function followingText(facts: IdleFacts, { policy, kept }: Idle, endsAt: string | undefined): string {
  if (policy.action === 'Report') return 'The machine is kept: spec.idle.action is Report.';
  if (kept !== undefined) return `The machine is kept: ${kept}.`;
  const unstoppable = canFollow(facts) ? undefined : cannotStop(facts, 'idle');
  if (unstoppable !== undefined) return unstoppable;
  const ended = policy.action === 'Stop' ? 'stopped' : 'destroyed';
  const blocker = isIdleDue(facts) ? blockedIdle(facts) : undefined;
  if (blocker)
    return `The machine is to be ${ended}, and kept for now: ${blocker.detail ?? reasons[blocker.reason].sentence}`;
  return `The machine is ${ended} at ${endsAt}, unless it is used.`;
}

/** Returns the events of an idle time whose report begins, whose end changes, or which is over. */
function reportEvents({ object }: Pick<Facts, 'object'>, report: Report | undefined): readonly EventNote[] {
  const { idle: before, instanceId } = object.status ?? {};
  if (report) {
    const { since, endsAt } = report.fields;
    if (before?.since === since && before.endsAt === endsAt) return [];
    const type = before !== undefined && endsAt === undefined ? 'Normal' : 'Warning';
    return [{ type, reason: 'Idle', action: 'Watching', note: report.condition.message }];
  }
  if (!before) return [];
  const note = `Machine ${instanceId} no longer counts as idle: it was used, a figure is missing, or its lists began again.`;
  return [{ type: 'Normal', reason: 'InUse', action: 'Watching', note }];
}

/** Returns the time until the idle time is checked again. */
function nextCheckMs(state: IdleState): number {
  const { afterMs, warningMs, action } = state.policy;
  if (state.type === 'inUse') return Math.max(MIN_CHECK_MS, afterMs - (action === 'Report' ? 0 : warningMs));
  const reportMs = reportedInMs(state);
  if (reportMs > 0 && Number.isFinite(reportMs)) return Math.max(MIN_CHECK_MS, reportMs);
  const { endsInMs = CHECK_MS } = state;
  return endsInMs > 0 ? Math.max(MIN_CHECK_MS, Math.min(CHECK_MS, endsInMs)) : CHECK_MS;
}

/**
 * Returns the fields without a past idle end that no longer prevents a rental: a person has extended the time, or the
 * machine still runs and is used. A list may lag behind a stop or destroy, so only a later one shows that.
 */
function withoutPastEnd(facts: IdleFacts, fields: StatusFields): StatusFields {
  const { idleEndedAt, ...others } = fields;
  const { object } = facts;
  if (idleEndedAt !== object.status?.idleEndedAt) return fields;
  return idleEnd(object) === undefined || isUsedAfter(facts, parseTime(idleEndedAt) ?? 0) ? others : fields;
}

function isUsedAfter(facts: IdleFacts, endedAt: number): boolean {
  const { list } = facts.machine;
  const row = list?.recorded;
  if (!list || row?.state !== 'running' || row.unsettled.has('state') || isIdleDue(facts)) return false;
  const isDestroyed = facts.memory.destroys.some(({ instanceId }) => instanceId === row.id);
  return !isDestroyed && list.begunAt > endedAt + facts.clock.constants.listLagMs;
}

// Extension

/** Returns the annotation in the form of the status if it names no time: then an event has reported it. */
function invalidExtension({ object }: Pick<Facts, 'object'>): Pick<StatusFields, 'idleExtended'> {
  if (!idlePolicy(object) || idleExtension(object) !== 'invalid') return {};
  const text = object.metadata.annotations?.[annotations.idleExtendUntil];
  return { idleExtended: asHandled(JSON.stringify(text)) };
}

function extensionEvents({ object, clock }: Pick<Facts, 'object' | 'clock'>): readonly EventNote[] {
  const { idleExtended } = invalidExtension({ object });
  if (idleExtended === undefined || idleExtended === object.status?.idleExtended) return [];
  const note = `The annotation ${annotations.idleExtendUntil} is ${idleExtended.slice(0, 100)}, which is no time: it starts no machine, and none is ended for idleness. Set it to a time such as ${formatTime(clock.now + 3_600_000)}, or remove it.`;
  return [{ type: 'Warning', reason: 'InvalidIdleExtend', action: 'Watching', note }];
}
