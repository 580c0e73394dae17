import { type Machine, readAgrees } from '../../accounts/beliefs/machine.ts';
import { type GpuInstanceCondition, gpuInstanceConditions } from '../../api/v1alpha1/conditions.ts';
import type { GpuInstance, GpuInstancePhase, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { currentHash, machineFacts, satisfiedOffers } from '../../api/v1alpha1/machine-drift.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { SHOWN_FACTS } from '../../api/v1alpha1/offer-fields.ts';
import { facetsOf, type Reason, reasons, withPage } from '../../api/v1alpha1/reasons.ts';
import { type AvoidTarget, withAvoided } from '../../instance/avoidance.ts';
import {
  beginCost,
  billedPerHour,
  type Cost,
  corrected,
  costFromStop,
  endCost,
  HISTORY_LENGTH,
  isChargedAsStopped,
  isPriceConfirmed,
  isPriceOfDisk,
  machineCost,
  pricedSince,
  repriced,
  unpriced,
  withAssumedPrice,
  withReport,
} from '../../instance/cost.ts';
import {
  hidesPower,
  isRecorded,
  isStopped,
  recordedState,
  stateFields,
} from '../../instance/machine-state.ts';
import { failuresAfter, isOfSpec, type RepeatedFailure } from '../../instance/repeated-failure.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import { machineAddresses } from '../../reach/machine-addresses.ts';
import { setConditions } from '../../runtime/conditions.ts';
import { type Facts, type HeldFacts, isDeleting, type OwnedMachine } from './facts.ts';
import { CONTRACT_NOTICE_MS } from './limits.ts';
import { unknownPrice } from './offers.ts';
import type { ConditionState, Decision, StatusFields, Verdict } from './types.ts';

/** Finding of a rule, as short as possible; {@link verdict} turns it into conditions. */
export interface Finding {
  readonly phase: GpuInstancePhase;
  /** Reason of the state of the object. */
  readonly reason: Reason;
  /** Instead of the catalogue's sentence. Never a figure that moves by itself. */
  readonly detail?: string | undefined;
  readonly machine: MachineFinding;
  /** True if all desired conditions hold. */
  readonly ready?: boolean;
  /** Set where price, lifetime or total cost are not within their limits and that is not the `reason`. */
  readonly budget?: { readonly reason: Reason; readonly detail: string } | undefined;
  /** Current activity, if it differs from the reason of Ready. */
  readonly atWork?: { readonly reason: Reason; readonly detail?: string | undefined } | undefined;
}

/** Text of Rented by the origin of the machine, if it differs from the catalogue's. */
const ORIGINS = {
  Rented: undefined,
  Adopted: 'An existing machine was taken over.',
  Observed: 'An existing machine is watched and never touched.',
} as const;

export type Origin = keyof typeof ORIGINS;

const NOT_RENTED = 'No machine is rented.';

/** Knowledge about the machine. */
export type MachineFinding =
  | { readonly type: 'none' }
  | {
      readonly type: 'booting' | 'failing' | 'stopped' | 'silent';
      readonly origin: Origin;
      readonly reason: Reason;
      readonly detail?: string;
    }
  | { readonly type: 'running'; readonly origin: Origin; readonly reachable: ConditionState };

/** Returns the condition with the given detail or the catalogue's sentence, and its remedy. */
export function conditionState(
  status: ConditionState['status'],
  reason: Reason,
  detail?: string,
): ConditionState {
  const entry: { sentence: string; remedy?: string } = reasons[reason];
  const sentence = detail ?? entry.sentence;
  return { status, reason, message: entry.remedy === undefined ? sentence : `${sentence} ${entry.remedy}` };
}

/** Returns the conditions that follow from a finding. Reconciling and Stalled exist only while they are true. */
export function verdict(finding: Finding): Verdict {
  const { phase, reason, detail, machine, ready = false } = finding;
  // What the object is stalled or replaced for is also what it exceeds; a price only while its machine is there.
  const exceeds = reason === 'LimitReached' || (reason === 'PriceRaised' && machine.type !== 'none');
  const exceeded = finding.budget ?? (exceeds ? { reason, detail } : undefined);
  return {
    phase,
    Ready: conditionState(ready ? 'True' : 'False', reason, detail),
    ...machineConditions(finding),
    ...(exceeded && { OverBudget: conditionState('True', exceeded.reason, exceeded.detail) }),
    ...workConditions(finding),
  };
}

/**
 * Returns Reconciling while an action or a wait is in progress, Stalled if only a person can continue; neither if all
 * is well.
 */
function workConditions({
  reason,
  detail,
  ready,
  atWork,
}: Finding): Pick<Verdict, 'Reconciling' | 'Stalled'> {
  if (ready) return {};
  if (atWork) return { Reconciling: conditionState('True', atWork.reason, atWork.detail) };
  const state = conditionState('True', reason, detail);
  return reasons[reason].kind === 'terminal' ? { Stalled: state } : { Reconciling: state };
}

function machineConditions({
  machine,
  reason,
  detail,
}: Finding): Pick<Verdict, 'containerRuns' | 'Rented' | 'Running'> {
  switch (machine.type) {
    case 'none':
      return {
        containerRuns: false,
        Rented: conditionState('False', reason, detail),
        Running: conditionState('False', 'NotRunning', NOT_RENTED),
      };
    case 'running':
      return {
        containerRuns: true,
        Rented: conditionState('True', 'Rented', ORIGINS[machine.origin]),
        Running: machine.reachable,
      };
    case 'silent':
      return {
        containerRuns: false,
        Rented: conditionState('True', 'Rented', ORIGINS[machine.origin]),
        Running: conditionState('Unknown', machine.reason, machine.detail),
      };
    case 'booting':
    case 'failing':
    case 'stopped':
      return {
        containerRuns: false,
        Rented: conditionState('True', 'Rented', ORIGINS[machine.origin]),
        Running: conditionState('False', machine.reason, machine.detail),
      };
  }
}

/** Condition types of earlier versions: they go with the next write of the status. */
const RETIRED_CONDITIONS = ['WithinBudget', 'Booted', 'Reachable'];

/** Returns the status of a decision: its fields, and its verdict as conditions of the object's generation. */
export function statusOf(
  object: GpuInstance,
  desired: NonNullable<Decision['status']>,
  now: number,
): GpuInstanceStatus {
  const { phase, containerRuns: _runs, ...states } = desired.verdict;
  const types = Object.keys(gpuInstanceConditions) as GpuInstanceCondition[];
  const conditions = setConditions({
    previous: object.status?.conditions,
    desired: types.flatMap((type) => {
      const state = states[type];
      return state ? [withPage({ type, ...state })] : [];
    }),
    absent: [...RETIRED_CONDITIONS, ...types.filter((type) => states[type] === undefined)],
    generation: object.metadata.generation,
    now: formatTime(now),
  });
  return {
    ...desired.fields,
    observedGeneration: object.metadata.generation,
    // A pause is otherwise not to be seen on a machine that runs.
    phase: object.spec.paused && phase === 'Running' ? 'Paused' : phase,
    conditions: conditions.map((condition) => ({ ...condition })),
  };
}

const MACHINE_FIELDS = [
  'instanceId',
  'claim',
  'unconfirmed',
  'sealedKey',
  'offerId',
  'offerIndex',
  'offerPricePerHour',
  'machineId',
  'hostId',
  'actualStatus',
  'machineState',
  'actualStatusSince',
  'rentedAt',
  'contractEnd',
  'runningAt',
  'lastRunAt',
  'readyAt',
  'startRequestedAt',
  'progressAt',
  'specHash',
  'facts',
  'image',
  'endpoint',
  'ssh',
  'publicAddress',
  'ports',
  'gpu',
] as const satisfies readonly (keyof StatusFields)[];

/** Returns the present fields, with the echo of the handled reconcile request. */
export function carriedFields(facts: Pick<Facts, 'object'>): StatusFields {
  const {
    conditions: _conditions,
    phase: _phase,
    observedGeneration: _seen,
    ...fields
  } = facts.object.status ?? {};
  // Failures of an older spec say nothing of this one.
  if (fields.repeatedFailure?.generation !== facts.object.metadata.generation) delete fields.repeatedFailure;
  const requestedAt = requestToken(facts.object.metadata, annotations.requestedAt);
  return requestedAt === undefined ? fields : { ...fields, requestedAt };
}

/** Returns the fields without those of one machine. */
export function withoutMachine(fields: StatusFields): StatusFields {
  const rest: Record<string, unknown> = { ...fields };
  for (const field of MACHINE_FIELDS) delete rest[field];
  return rest;
}

/**
 * Returns the time since which the service has shown its present status: by the operator's record, or by the list that
 * first showed it.
 */
export function statusSince(facts: Pick<Facts, 'object' | 'machine' | 'clock'>, row: Machine): number {
  const { status } = facts.object;
  if (isRecorded(row, status)) return parseTime(status?.actualStatusSince) ?? facts.clock.now;
  return facts.machine.list?.begunAt ?? facts.clock.now;
}

/**
 * Returns the time since which the service has shown it, in steady time: as observed by this process, else as recorded.
 */
export function statusSeenSince(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>,
  row: Machine,
): number {
  const { status } = facts.object;
  const { seenStatus } = facts.memory;
  if (seenStatus?.state === row.state && seenStatus.marketStatus === row.marketStatus)
    return seenStatus.since;
  const onRecord = isRecorded(row, status) ? parseTime(status?.actualStatusSince) : undefined;
  return onRecord ?? facts.machine.list?.begunSteady ?? facts.clock.steadyNow;
}

/** A machine is watched by this very process for so long before a timeout that began earlier may end it. */
const MIN_WATCH_MS = 60_000;

/** Returns the earliest time of a timeout: after a restart a wrong wall clock must not make it look long over. */
export function deadlineAfter(facts: Pick<Facts, 'memory'>, since: number, timeoutMs: number): number {
  const watched = facts.memory.watchedSince ?? Number.NEGATIVE_INFINITY;
  return Math.max(since + timeoutMs, watched + Math.min(timeoutMs, MIN_WATCH_MS));
}

/** Returns the start of the present machine's rental, in steady time. */
export function rentedSince(
  { memory, object, clock: { steadyNow } }: Pick<Facts, 'object' | 'clock' | 'memory'>,
  startedAt: number | undefined,
): number {
  return memory.rentedSince ?? startedAt ?? parseTime(object.status?.cost?.since) ?? steadyNow;
}

/** Returns the fields with all facts of the listed machine, without figures that change by themselves. */
export function withRow(facts: HeldFacts, row: Machine): StatusFields {
  const { unconfirmed: _confirmed, machineState: _before, ...fields } = carriedFields(facts);
  const startedAt = beganAt(facts, row);
  const memory = row.gpuMemoryMB === undefined ? fields.gpu?.memory : `${row.gpuMemoryMB}M`;
  const gpu = {
    name: row.gpuName ?? '',
    count: row.gpuCount ?? fields.gpu?.count ?? 1,
    ...omitUndefined({ memory }),
  };
  return {
    ...fields,
    ...(facts.machine.recordProof !== 'confirmed' && { unconfirmed: true }),
    ...stateFields(row),
    actualStatusSince: formatTime(statusSince(facts, row)),
    ...omitUndefined({ machineId: row.machineId, hostId: row.hostId }),
    ...driftFields(fields, facts, row),
    ...machineAddresses(row, facts.object.spec),
    ...contractFields(fields, facts, row),
    ...(row.gpuName !== undefined && { gpu }),
    ...(startedAt === undefined ? {} : { rentedAt: formatTime(startedAt) }),
    ...costFields(fields, facts, row),
  };
}

const FACT_FIELDS = [...SHOWN_FACTS, 'interruptible'] as const;

/**
 * Returns the fields of the contract. Its end is reported once, a day before it, by lists that agree on it; an extended
 * contract has another end.
 */
function contractFields(
  fields: StatusFields,
  facts: Pick<Facts, 'clock'>,
  { endsAt, unsettled }: Machine,
): Pick<StatusFields, 'contractEnd'> {
  if (endsAt === undefined) return {};
  const at = formatTime(endsAt);
  const isReported =
    (!unsettled.has('endsAt') && isContractEnding(facts, endsAt)) ||
    (fields.contractEnd?.at === at && fields.contractEnd.isReported === true);
  return { contractEnd: { at, ...(isReported && { isReported }) } };
}

/** Returns true if the contract ends within a day, by a clock that more than one reply dates. */
function isContractEnding({ clock: { confirmedNow } }: Pick<Facts, 'clock'>, endsAt: number): boolean {
  return confirmedNow !== undefined && endsAt - confirmedNow <= CONTRACT_NOTICE_MS;
}

/** Fields that drift compares with: the row's, for a machine that was found, adopted or rented by an older operator. */
function driftFields(
  fields: StatusFields,
  { object: { spec } }: Pick<Facts, 'object'>,
  row: Machine,
): Pick<StatusFields, 'specHash' | 'facts'> {
  if (spec.adopt?.policy === 'Observe') return {};
  const { interruptible } = row;
  const pricing = interruptible === undefined ? undefined : interruptible ? 'Interruptible' : 'OnDemand';
  const shown = Object.fromEntries(SHOWN_FACTS.map((fact) => [fact, row[fact]]));
  // A machine that was found or adopted has no offer: two lists define it.
  const isSettled = FACT_FIELDS.every((field) => !row.unsettled.has(field));
  return {
    specHash: currentHash(fields.specHash, spec),
    ...omitUndefined({
      facts: fields.facts ?? (isSettled ? machineFacts({ ...shown, pricing }, []) : undefined),
    }),
  };
}

/** Returns the present price: that of the disk for a stopped machine, else the whole price. */
export function currentPrice(row: Machine, isAsStopped = isStopped(row)): number | undefined {
  return isAsStopped ? row.storagePricePerHour : row.pricePerHour;
}

/** Returns the id of a machine with its hourly price, if a list names one. */
export function pricedId(row: Machine): string {
  const price = currentPrice(row);
  return price === undefined ? row.id : `${row.id} ($${formatDollars(price)}/h)`;
}

/**
 * Returns true if the recorded machine bills its disk only. A status that hides its power changes nothing: the machine
 * is charged as last believed, unless a start or a stop was requested since then, or two lists also show its power.
 */
function isBilledAsStopped(facts: Pick<Facts, 'object' | 'memory'>, row: Machine): boolean {
  const { status = {}, spec } = facts.object;
  if (!hidesPower(row, status.runningAt !== undefined)) return isStopped(row);
  const power = row.unsettled.has('power') ? undefined : row.power;
  if (power !== undefined) return power === 'stopped';
  if (status.startRequestedAt !== undefined) return false;
  const isToStop = isDeleting(facts.object) || spec.powerState === 'Stopped';
  return (isToStop && facts.memory.stopAnsweredAt !== undefined) || isChargedAsStopped(status);
}

/** Returns the dollars per hour of the recorded machine, by its row if it is listed; undefined if no price is known. */
export function billedNow(facts: Pick<Facts, 'object' | 'machine' | 'memory'>): string | undefined {
  const {
    object: { status = {} },
    machine: { list },
  } = facts;
  const row = list?.recorded;
  if (!row) return billedPerHour(status);
  const price = currentPrice(row, isBilledAsStopped(facts, row));
  const { machineState: _before, ...recorded } = status;
  return price === undefined ? billedPerHour({ ...recorded, ...stateFields(row) }) : formatDollars(price);
}

/** A machine that is listed has begun: a date beyond tomorrow says nothing. */
const LATEST_START_MS = 86_400_000;

/** Returns the start of the machine by the clock of the service; undefined if that is unknown. */
export function beganAt(facts: Pick<Facts, 'clock'>, { startedAt }: Machine): number | undefined {
  const latest = (facts.clock.serviceNow ?? facts.clock.now) + LATEST_START_MS;
  return startedAt === undefined || startedAt > latest ? undefined : startedAt;
}

function costFields(fields: StatusFields, facts: HeldFacts, row: Machine): Pick<StatusFields, 'cost'> {
  const { storagePricePerHour } = row;
  const startedAt = beganAt(facts, row);
  const from = pricedFrom(facts, row);
  const price = settledPrice(fields, facts, row);
  const known =
    fields.cost ?? beginCost(undefined, startedAt ?? facts.clock.serviceNow ?? facts.clock.now, price);
  const { reported, priceOffered: _mark, ...cost } = known;
  const isFirstStart = fields.rentedAt === undefined && startedAt !== undefined;
  const updated = isFirstStart
    ? firstCost(facts, row, { cost, startedAt, price, from })
    : presentCost(fields, facts, { row, cost: { ...cost, ...omitUndefined({ reported }) }, price, from });
  const charged = withAssumedPrice(updated, assumedPrice(facts, fields));
  return {
    cost: {
      ...withReport({ ...charged, ...omitUndefined({ reported }) }, shownPrice(facts, row), from),
      ...(isPriceOffered(facts, row, fields.cost) && { priceOffered: true }),
      ...(storagePricePerHour !== undefined && { storagePricePerHour: formatDollars(storagePricePerHour) }),
    },
  };
}

/**
 * Returns the cost of a machine that a row has dated before. That of its disk ends when it runs, whatever its price is
 * then.
 */
function presentCost(
  fields: StatusFields,
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  { row, cost: known, price, from }: PresentCost,
): Cost {
  const { reported: _reported, ...cost } = known;
  const shown = price ?? shownPrice(facts, row);
  const since = shown === undefined ? from : pricedSince(known, shown, from);
  if (since === undefined) return cost;
  if (price !== undefined) {
    const stops = isBilledAsStopped(facts, row) && !isStopped(recordedState(facts.object.status));
    return (stops ? costFromStop : repriced)(cost, since, price);
  }
  const runs = isPriceOfDisk(cost) && !isBilledAsStopped(facts, row) && isTurnSettled(fields, facts, row);
  return runs ? unpriced(cost, since) : cost;
}

interface PresentCost {
  readonly row: Machine;
  readonly cost: Cost;
  readonly price: number | undefined;
  readonly from: number | undefined;
}

/**
 * Returns the cost by the first row that dates the machine. A rented machine that it shows stopped counts as running
 * until the first list that shows it stopped: no list dates the stop. An adopted one may have been stopped for weeks.
 */
function firstCost(
  facts: Pick<Facts, 'object' | 'memory'>,
  row: Machine,
  { cost, startedAt, price, from = startedAt }: FirstCost,
): Cost {
  const isTakenOver = facts.object.spec.adopt !== undefined;
  if (isTakenOver || !isBilledAsStopped(facts, row)) return corrected(cost, startedAt, price);
  return costFromStop(corrected(cost, startedAt, row.pricePerHour), Math.max(startedAt, from), price);
}

interface FirstCost {
  readonly cost: Cost;
  readonly startedAt: number;
  readonly price: number | undefined;
  readonly from: number | undefined;
}

/**
 * Returns the price to charge in the present state of the machine; undefined if none is known, or the change is not
 * settled.
 */
function settledPrice(
  fields: StatusFields,
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  row: Machine,
): number | undefined {
  return isTurnSettled(fields, facts, row) ? currentPrice(row, isBilledAsStopped(facts, row)) : undefined;
}

/** Returns false while the price on record is that of the previous state, and stays. */
function isTurnSettled(
  fields: StatusFields,
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  row: Machine,
): boolean {
  return billingTurn(fields, facts, row) === 'settled';
}

/** Returns true if lists agree on a state with another price, and a read must agree before it is charged. */
export function isTurnUnread(facts: Pick<Facts, 'object' | 'machine' | 'memory'>, row: Machine): boolean {
  return billingTurn(facts.object.status ?? {}, facts, row) === 'unread';
}

/**
 * Settles the price of a state that differs from the charged one. A state that changed by itself changes the price when
 * two lists and a read agree on it; a stop or start by the operator is a second reply.
 */
function billingTurn(
  fields: StatusFields,
  facts: Pick<Facts, 'object' | 'machine' | 'memory'>,
  row: Machine,
): 'settled' | 'unsettled' | 'unread' {
  const { cost, startRequestedAt } = fields;
  const { stopAnsweredAt, startAnsweredAt } = facts.memory;
  const isAsStopped = isBilledAsStopped(facts, row);
  const hidden = hidesPower(row, fields.runningAt !== undefined);
  const answered = isAsStopped
    ? stopAnsweredAt
    : (startAnsweredAt ?? (hidden ? startRequestedAt : undefined));
  const isOnRecord = cost?.pricePerHour !== undefined && !cost.priceAssumed;
  const turns = isAsStopped !== isPriceOfDisk(cost);
  if (!isOnRecord || !turns || answered !== undefined) return 'settled';
  if (row.unsettled.has('state')) return 'unsettled';
  const price = currentPrice(row, isAsStopped);
  const isSamePrice = price === undefined || price === parseDollars(cost.pricePerHour);
  return isSamePrice || isStateRead(facts, row) ? 'settled' : 'unread';
}

/** Returns true if the read of this reconcile shows the state in the lists. */
function isStateRead({ machine: { confirmed } }: Pick<Facts, 'machine'>, row: Machine): boolean {
  if (confirmed?.instanceId !== row.id || typeof confirmed.read === 'string') return false;
  return readAgrees(row, confirmed.read, 'status');
}

/**
 * Returns true if the price on record is still that of the offer, which lists contradict; a start after a stop has the
 * same situation again. A stopped machine shows none.
 */
function isPriceOffered(
  facts: Pick<Facts, 'object' | 'memory'>,
  row: Machine,
  before: StatusFields['cost'],
): boolean {
  if (isBilledAsStopped(facts, row)) return before?.priceOffered === true;
  const isConfirmed = isPriceConfirmed(before) && !isPriceOfDisk(before);
  return row.reports.pricePerHour !== undefined && !isConfirmed;
}

/** Returns the listed price in the present state, believed or not. */
function shownPrice(facts: Pick<Facts, 'object' | 'memory'>, row: Machine): number | undefined {
  const { pricePerHour, storagePricePerHour } = row.reports;
  return isBilledAsStopped(facts, row)
    ? (storagePricePerHour?.value ?? row.storagePricePerHour)
    : (pricePerHour?.value ?? row.pricePerHour);
}

/**
 * Returns the price of a machine whose row has none: that of its offer, else the maximum of the spec. A machine that is
 * only observed costs nothing here.
 */
export function assumedPrice(
  facts: Pick<Facts, 'object' | 'account'>,
  fields: StatusFields,
): number | undefined {
  const { spec } = facts.object;
  if (spec.adopt?.policy === 'Observe') return undefined;
  const limits = facts.account.facts?.limits ?? {};
  return parseDollars(fields.offerPricePerHour) ?? unknownPrice(satisfiedOffers(fields, spec), limits);
}

/**
 * Returns the time from which a new price counts, by the clock that dates machines: from the change of state that
 * caused it, else from now. The operator's own clock may be wrong by an hour, and accrued cost is never counted again.
 * Undefined while no clock can be trusted; the next list decides.
 */
function pricedFrom(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>,
  row: Machine,
): number | undefined {
  const {
    object,
    machine: { list },
    memory,
    clock: { steadyNow },
  } = facts;
  const { status } = object;
  const now = facts.clock.serviceNow;
  if (now === undefined || isRecorded(row, status)) return now;
  const stoppedAt = isBilledAsStopped(facts, row) ? memory.stopAnsweredAt : undefined;
  const listAgeMs = steadyNow - (list?.begunSteady ?? steadyNow);
  const listedAt = Number.isFinite(listAgeMs) ? now - Math.max(0, listAgeMs) : now;
  return Math.max(stoppedAt ?? listedAt, parseTime(status?.cost?.since) ?? 0);
}

/** End of a machine. */
interface Ending {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  /** The service's clock where billing ended. */
  readonly endedAt: number;
  /** The same clock at the proof that the machine is gone; undefined if the reply to a destroy dates the end. */
  readonly provenGoneAt?: number | undefined;
}

/**
 * Returns the target that the account should avoid after such an end; undefined if the machine is not the cause, or
 * many failed together.
 */
export function avoidTarget(
  facts: Pick<Facts, 'object' | 'account'>,
  reason: Reason,
): AvoidTarget | undefined {
  if (facts.account.facts?.countsHostFailures === false) return undefined;
  const { status } = facts.object;
  // A marketplace without a start starts no machine: this one is not to blame.
  if (reason === 'CannotStart' && facts.account.facts?.startUnsupported === true) return undefined;
  const { avoids: kind } = facetsOf(reason);
  if (kind === 'host' && status?.hostId !== undefined) return { type: 'host', id: status.hostId };
  if (kind !== undefined && status?.machineId !== undefined) return { type: 'machine', id: status.machineId };
  return undefined;
}

type PastMachine = NonNullable<GpuInstanceStatus['history']>[number];

/** Returns the fields after a machine has ended: it moves into the history, its cost into the accrued sum. */
export function endedFields(
  facts: Pick<Facts, 'object' | 'account' | 'clock' | 'memory'>,
  { endedAt: givenEnd, ...end }: Ending,
): StatusFields {
  const { machine, reason, provenGoneAt } = end;
  const { status = {} } = facts.object;
  const { machineId, hostId, gpu, rentedAt, runningAt } = status;
  const begun = parseTime(rentedAt) ?? parseTime(status.cost?.since) ?? givenEnd;
  // A machine that no list ever showed is missing from those before its rental, too.
  const endedAt = Math.max(givenEnd, begun);
  const pricePerHour = status.cost?.pricePerHour;
  const fields = withoutMachine(carriedFields(facts));
  const total = endCost(status.cost, endedAt);
  const cost = machineCost(status, endedAt);
  const failures = failuresOf(facts, { ...end, endedAt }, cost);
  // What the spec brought about is no fault of a machine, nor was it one of the first that failed by it.
  const isSpecs = isOfSpec(failures);
  const forgiven = isSpecs ? forgivenMachine(facts)?.id : undefined;
  const before = status.avoid?.filter(({ kind, id }) => kind !== 'Machine' || id !== forgiven);
  const avoid = withAvoided(before, isSpecs ? undefined : avoidTarget(facts, reason), facts.clock.now);
  const past: PastMachine = {
    attempt: machine.attempt,
    instanceId: machine.instanceId,
    ...omitUndefined({ machineId, hostId, gpuName: gpu?.name }),
    reason,
    endedAt: formatTime(endedAt),
    ...(provenGoneAt !== undefined && { provenGoneAt: formatTime(provenGoneAt) }),
    rentedMinutes: Math.round((endedAt - begun) / 60_000),
    cost: formatDollars(cost),
    ...omitUndefined({ pricePerHour, rentedAt, runningAt, lastStatus: status.actualStatus }),
  };
  const { repeatedFailure: _before, avoid: _avoided, ...rest } = fields;
  return {
    ...rest,
    attempt: machine.attempt,
    ...(total && { cost: total }),
    history: [...(fields.history ?? []), past].slice(-HISTORY_LENGTH),
    ...(avoid.length > 0 && { avoid }),
    ...(failures && { repeatedFailure: failures }),
  };
}

/**
 * Returns the failures in a row with this end. While many machines of the account fail together, none proves anything
 * about a spec.
 */
function failuresOf(
  {
    object,
    account: { facts: accountFacts },
    memory,
    clock: { now },
  }: Pick<Facts, 'object' | 'account' | 'clock' | 'memory'>,
  { reason, endedAt }: Ending,
  cost: number,
): RepeatedFailure | undefined {
  if (accountFacts?.countsHostFailures === false) return object.status?.repeatedFailure;
  return failuresAfter(object, { reason, endedAt, now, cost, text: memory.progress?.text });
}

/** Returns the machine that was avoided for the first of the failures in a row; undefined if there is none. */
export function forgivenMachine({ object: { status } }: Pick<Facts, 'object'>): AvoidTarget | undefined {
  const { machines, machineId } = status?.repeatedFailure ?? {};
  return machines === 1 && machineId !== undefined ? { type: 'machine', id: machineId } : undefined;
}
