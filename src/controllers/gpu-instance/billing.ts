import { type Machine, readAgrees } from '../../accounts/beliefs/machine.ts';
import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { satisfiedOffers } from '../../api/v1alpha1/machine-drift.ts';
import {
  beginCost,
  billedPerHour,
  type Cost,
  corrected,
  costFromStop,
  isChargedAsStopped,
  isPriceConfirmed,
  isPriceOfDisk,
  pricedSince,
  repriced,
  unpriced,
  withAssumedPrice,
  withReport,
} from '../../instance/cost.ts';
import { idleEnd } from '../../instance/idle.ts';
import {
  hidesPower,
  isRecorded,
  isStopped,
  recordedState,
  stateFields,
} from '../../instance/machine-state.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { parseTime } from '../../lib/time.ts';
import { type Facts, type HeldFacts, isDeleting } from './facts.ts';
import { unknownPrice } from './offers.ts';
import type { StatusFields } from './types.ts';

/** Returns the present price: the disk's price for a stopped machine, else the whole price. */
export function currentPrice(row: Machine, isAsStopped = isStopped(row)): number | undefined {
  return isAsStopped ? row.storagePricePerHour : row.pricePerHour;
}

/** Returns the id of a machine with its hourly price, if a list names one. */
export function pricedId(row: Machine): string {
  const price = currentPrice(row);
  return price === undefined ? row.id : `${row.id} ($${formatDollars(price)}/h)`;
}

/**
 * Returns true if the recorded machine bills its disk only. A row that hides the power state changes nothing: the
 * machine is charged as last believed, unless a start or a stop was requested since then, or two lists also show its
 * power state.
 */
function isBilledAsStopped(facts: Pick<Facts, 'object' | 'memory'>, row: Machine): boolean {
  const { status = {}, spec } = facts.object;
  if (!hidesPower(row, status.runningAt !== undefined)) return isStopped(row);
  const power = row.unsettled.has('power') ? undefined : row.power;
  if (power !== undefined) return power === 'stopped';
  if (status.startRequestedAt !== undefined) return false;
  const isToStop =
    isDeleting(facts.object) || spec.powerState === 'Stopped' || idleEnd(facts.object) !== undefined;
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

/**
 * Maximum time by which a start date may be ahead: a listed machine has begun, so a date beyond tomorrow is ignored.
 */
const LATEST_START_MS = 86_400_000;

/** Returns the start of the machine by the clock of the service; undefined if that is unknown. */
export function beganAt(facts: Pick<Facts, 'clock'>, { startedAt }: Machine): number | undefined {
  const latest = facts.clock.believedNow + LATEST_START_MS;
  return startedAt === undefined || startedAt > latest ? undefined : startedAt;
}

export function costFields(fields: StatusFields, facts: HeldFacts, row: Machine): Pick<StatusFields, 'cost'> {
  const { storagePricePerHour } = row;
  const startedAt = beganAt(facts, row);
  const from = pricedFrom(facts, row);
  const price = settledPrice(fields, facts, row);
  const known = fields.cost ?? beginCost(undefined, startedAt ?? facts.clock.believedNow, price);
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
 * Returns the cost of a machine that an earlier row dated. The cost of the disk ends when the machine runs, whatever
 * its price is then.
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
  if (price === undefined) return corrected(cost, startedAt, row.pricePerHour);
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
 * Settles the price of a state that differs from the charged one. If the state changed by itself, the price changes
 * when two lists and a read agree on it. After a stop or start by the operator, that reply replaces one of them.
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
  // A rented machine runs until replies agree that it does not; an adopted one may have been stopped.
  const wasRunning = isOnRecord ? !isPriceOfDisk(cost) : facts.object.spec.adopt === undefined;
  const turns = isOnRecord ? isAsStopped === wasRunning : isAsStopped && wasRunning;
  if (!turns || answered !== undefined) return 'settled';
  if (row.unsettled.has('state')) return 'unsettled';
  const price = currentPrice(row, isAsStopped);
  const isSamePrice = price === undefined || price === parseDollars(cost?.pricePerHour);
  return isSamePrice || isStateRead(facts, row) ? 'settled' : 'unread';
}

/** Returns true if the read of this reconcile shows the state in the lists. */
function isStateRead({ machine: { confirmed } }: Pick<Facts, 'machine'>, row: Machine): boolean {
  if (confirmed?.instanceId !== row.id || typeof confirmed.read === 'string') return false;
  return readAgrees(row, confirmed.read, 'status');
}

/**
 * Returns true if the recorded price is still that of the offer, which lists contradict; a start after a stop causes
 * the same situation. A stopped machine shows no price.
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
 * caused it, else from now. The operator's own clock may be wrong by an hour, and accrued cost is never recalculated.
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
  const isAsStopped = isBilledAsStopped(facts, row);
  const answeredAt = isAsStopped ? memory.stopAnsweredAt : startAnsweredAt(status);
  const listAgeMs = steadyNow - (list?.begunSteady ?? steadyNow);
  const listedAt = Number.isFinite(listAgeMs) ? now - Math.max(0, listAgeMs) : now;
  return Math.max(answeredAt ?? listedAt, parseTime(status?.cost?.since) ?? 0);
}

/** Returns the time of the reply to a start that no list has contradicted since; undefined without one. */
function startAnsweredAt(status: GpuInstanceStatus | undefined): number | undefined {
  const { action, at } = status?.answered ?? {};
  return action === 'Start' && isPriceOfDisk(status?.cost) ? parseTime(at) : undefined;
}
