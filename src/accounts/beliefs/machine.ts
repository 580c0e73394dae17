import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { isPriceConfirmed, isPriceOfDisk } from '../../instance/cost.ts';
import { hasExited, isStopped, recordedState, stateClass } from '../../instance/machine-state.ts';
import { type MicroDollars, parseDollars } from '../../lib/money.ts';
import { parseTime } from '../../lib/time.ts';
import type { MachineRow } from '../../market/machine.ts';
import { type Agreement, WATCHED_FIELDS, type WatchedField } from './sightings.ts';

/**
 * Believed values of a machine: the object's record, combined with values on which complete lists agree. Rules use
 * this, never a row of a reply.
 */
export interface Machine extends MachineRow {
  /** Values that lists show and that are not believed. */
  readonly reports: Reports;
  /**
   * Fields for which no two lists, a poll apart, agree on the shown value. The value may be shown, but no machine is
   * destroyed, stopped or replaced by it.
   */
  readonly unsettled: ReadonlySet<WatchedField>;
}

/** A value that lists show instead of the believed one. */
export interface Report<T> {
  readonly value: T;
  /**
   * True if lists have agreed on it for long enough. Decisions about money and time also need a read of the machine.
   */
  readonly isAgreed: boolean;
  /**
   * True if the value differs too much from the known one. It must hold for {@link IMPLAUSIBLE_MS}, and the operator
   * reports it.
   */
  readonly isImplausible: boolean;
}

type ReportedField = 'pricePerHour' | 'storagePricePerHour' | 'startedAt';
type Reports = { readonly [Field in ReportedField]?: Report<number> };

/** Period for which lists must agree on a value that contradicts a known value. */
export const IMPLAUSIBLE_MS = 600_000;
/** A price above so many times a confirmed one, or so many times below a known one, is implausible. */
const IMPLAUSIBLE_FACTOR = 3;
/** A first price this close to the offer is the offer's: two replies agree. */
const OFFER_TOLERANCE = 0.05;
/** Maximum time by which a service's clock may be behind the clock that dated the intent. */
const CLOCK_SKEW_MS = 60_000;
const SECOND_MS = 1_000;

/** Believed values of a machine in the record of its object; they survive a restart. */
export interface MachineRecord {
  readonly status: GpuInstanceStatus;
  /** When the rental of the machine was issued; undefined if that is not on record. */
  readonly issuedAt: number | undefined;
}

/**
 * Returns a listed machine without a record. Its values are shown; values on which lists disagree are unsettled.
 */
export function unrecorded(row: MachineRow, agreement: Agreement): Machine {
  return { ...row, reports: {}, unsettled: unsettledFields(agreement) };
}

/** Returns the believed machine: the recorded value wins if the row differs and lists do not agree for long enough. */
export function believe(row: MachineRow, agreement: Agreement, record: MachineRecord): Machine {
  const { status } = record;
  const base = unrecorded(row, agreement);
  const agrees = (field: WatchedField) => !base.unsettled.has(field);
  const { gpu } = status;
  const memoryMB = megabytes(gpu?.memory);
  const kept = {
    ...(differs(gpu?.name, row.gpuName) && !agrees('gpuName') && { gpuName: gpu?.name }),
    ...(differs(gpu?.count, row.gpuCount) && !agrees('gpuCount') && { gpuCount: gpu?.count }),
    ...(differs(memoryMB, row.gpuMemoryMB) && !agrees('gpuMemoryMB') && { gpuMemoryMB: memoryMB }),
    ...(differs(status.machineId, row.machineId) && !agrees('machineId') && { machineId: status.machineId }),
    ...(differs(status.hostId, row.hostId) && !agrees('hostId') && { hostId: status.hostId }),
    ...(!agrees('endsAt') && keptEnd(row, status)),
    ...(!agrees('address') && keptAddress(row, status)),
  };
  return { ...base, ...kept, ...money(row, agreement, record) };
}

function unsettledFields({ heldMs, spacingMs }: Agreement): ReadonlySet<WatchedField> {
  return new Set(WATCHED_FIELDS.filter((field) => (heldMs(field) ?? -1) < spacingMs));
}

/** Returns true if the row contradicts the record. A missing field contradicts nothing. */
function differs<T>(recorded: T | undefined, shown: T | undefined): boolean {
  return recorded !== undefined && shown !== undefined && recorded !== shown;
}

/** Returns the recorded end of the contract. One list with a different end, or without one, changes nothing. */
function keptEnd(
  { endsAt }: MachineRow,
  { contractEnd }: GpuInstanceStatus,
): Partial<Pick<Machine, 'endsAt'>> {
  const known = parseTime(contractEnd?.at);
  return known === undefined || isSameSecond(known, endsAt) ? {} : { endsAt: known };
}

/** Times of a status are whole seconds. */
function isSameSecond(left: number | undefined, right: number | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return Math.floor(left / SECOND_MS) === Math.floor(right / SECOND_MS);
}

// Price and start

function money(
  row: MachineRow,
  agreement: Agreement,
  { status, issuedAt }: MachineRecord,
): Pick<Machine, ReportedField | 'reports'> {
  const offered = parseDollars(status.offerPricePerHour);
  const running = recordedRunningPrice(status);
  const { isFirst } = running;
  const prices = [running.price, offered].filter((known) => known !== undefined);
  const price = judge(row.pricePerHour, running.price, {
    isSame: (known, shown) => known === shown || (isFirst && isNear(known, shown)),
    // The price of an offer comes from a single reply, so no higher price is implausible. An offer with a wrong low
    // price would otherwise disable limits.
    isImplausible: (shown) =>
      prices.length > 0 &&
      ((isPriceConfirmed(status.cost) && isFarAbove(Math.max(...prices), shown)) ||
        isFarAbove(shown, Math.min(...prices))),
    heldMs: agreement.heldMs('pricePerHour'),
    spacingMs: agreement.spacingMs,
    needsRecord: true,
  });
  const storage = judge(row.storagePricePerHour, parseDollars(status.cost?.storagePricePerHour), {
    isSame: (known, shown) => known === shown,
    isImplausible: (shown) => price.believed !== undefined && shown > price.believed,
    heldMs: agreement.heldMs('storagePricePerHour'),
    spacingMs: agreement.spacingMs,
    needsRecord: false,
  });
  const start = judge(row.startedAt, parseTime(status.rentedAt), {
    isSame: isSameSecond,
    isImplausible: (shown) => issuedAt !== undefined && shown < issuedAt - CLOCK_SKEW_MS,
    heldMs: agreement.heldMs('startedAt'),
    spacingMs: agreement.spacingMs,
    needsRecord: false,
  });
  return {
    pricePerHour: price.believed,
    storagePricePerHour: storage.believed,
    startedAt: start.believed,
    reports: {
      ...(price.report && { pricePerHour: price.report }),
      ...(storage.report && { storagePricePerHour: storage.report }),
      ...(start.report && { startedAt: start.report }),
    },
  };
}

/**
 * Returns the believed price of the running machine. `isFirst`: no list was believed yet; the known price, if any, is
 * that of the offer.
 */
function recordedRunningPrice(status: GpuInstanceStatus): {
  readonly price: MicroDollars | undefined;
  readonly isFirst: boolean;
} {
  const { cost, offerPricePerHour } = status;
  const onRecord = parseDollars(cost?.pricePerHour);
  const isOfDisk = isStopped(recordedState(status)) || isPriceOfDisk(cost);
  if (onRecord !== undefined && isPriceConfirmed(cost) && !isOfDisk)
    return { price: onRecord, isFirst: false };
  return { price: parseDollars(offerPricePerHour), isFirst: true };
}

/** Returns true if a price is so far above the known one that the operator reports it immediately. */
export function isFarAbove(known: MicroDollars, shown: MicroDollars): boolean {
  return shown > known * IMPLAUSIBLE_FACTOR;
}

function isNear(known: number, shown: number): boolean {
  return Math.abs(shown - known) <= known * OFFER_TOLERANCE;
}

interface Judgement {
  readonly believed: number | undefined;
  readonly report: Report<number> | undefined;
}

interface Criteria {
  readonly isSame: (known: number, shown: number) => boolean;
  readonly isImplausible: (shown: number) => boolean;
  readonly heldMs: number | undefined;
  readonly spacingMs: number;
  /** Values of the first list are not believed yet. */
  readonly needsRecord: boolean;
}

function judge(shown: number | undefined, known: number | undefined, criteria: Criteria): Judgement {
  if (shown === undefined) return { believed: known, report: undefined };
  const isImplausible = criteria.isImplausible(shown);
  const isBelieved =
    known === undefined ? !criteria.needsRecord && !isImplausible : criteria.isSame(known, shown);
  if (isBelieved) return { believed: shown, report: undefined };
  const longEnough = isImplausible ? Math.max(IMPLAUSIBLE_MS, criteria.spacingMs) : criteria.spacingMs;
  const isAgreed = (criteria.heldMs ?? -1) >= longEnough;
  return { believed: known, report: { value: shown, isAgreed, isImplausible } };
}

// Address

/**
 * Returns the recorded address of a machine that runs and ran before. A new address needs two lists; further ports of
 * the same address need none.
 */
function keptAddress(
  row: MachineRow,
  status: GpuInstanceStatus,
): Partial<Pick<Machine, 'publicAddress' | 'sshHost' | 'sshPort' | 'ports'>> {
  if (row.state !== 'running' || recordedState(status).state !== 'running') return {};
  const { publicAddress, ssh, ports = [] } = status;
  if (publicAddress === undefined && ssh === undefined) return {};
  const mapped = Object.fromEntries(
    ports.map(({ containerPort, protocol, publicPort }) => [
      `${containerPort}/${protocol.toLowerCase()}`,
      publicPort,
    ]),
  );
  const isKept = Object.entries(mapped).every(([port, shown]) => row.ports[port] === shown);
  const isSameHost =
    publicAddress === row.publicAddress && ssh?.host === row.sshHost && ssh?.port === row.sshPort;
  if (isKept && isSameHost) return {};
  return { publicAddress, sshHost: ssh?.host, sshPort: ssh?.port, ports: mapped };
}

function megabytes(memory: string | undefined): number | undefined {
  const text = /^(\d+)M$/.exec(memory ?? '')?.[1];
  return text === undefined ? undefined : Number(text);
}

// Reads

/** Values of a single read of a machine; they confirm or contradict the values on which lists agree. */
export type MachineRead = Pick<
  MachineRow,
  | 'id'
  | 'label'
  | 'state'
  | 'intendedPower'
  | 'startedAt'
  | 'endsAt'
  | 'pricePerHour'
  | 'storagePricePerHour'
  | 'gpuUtilization'
>;

/** Returns the machine after a read. Values on which the lists and the read agree are believed permanently. */
export function afterRead(machine: Machine, read: MachineRead): Machine {
  const fields = (['pricePerHour', 'storagePricePerHour', 'startedAt'] as const).filter((field) => {
    const report = machine.reports[field];
    return report?.isAgreed === true && read[field] === report.value;
  });
  if (fields.length === 0) return machine;
  const reports = Object.fromEntries(
    Object.entries(machine.reports).filter(([field]) => !fields.some((accepted) => accepted === field)),
  );
  const values = Object.fromEntries(fields.map((field) => [field, read[field]]));
  return { ...machine, ...values, reports };
}

/** Returns true if lists agree on a report that only a read can settle. */
export function needsRead({ reports }: Machine): boolean {
  return Object.values(reports).some(({ isAgreed }) => isAgreed);
}

/**
 * Ground of a decision to end a machine. `contract`: the machine is still stopped after the end of its rental
 * contract.
 */
export type Ground = 'status' | 'contract' | 'price' | 'label' | 'presence';

const GROUND_FIELDS: Readonly<Record<Ground, readonly WatchedField[]>> = {
  status: ['state'],
  contract: ['state', 'endsAt'],
  price: [],
  label: ['label', 'startedAt'],
  presence: [],
};

/** Returns true if two complete lists agree on the ground. A price on record was believed before. */
export function listsAgree(machine: Machine, ground: Ground): boolean {
  return GROUND_FIELDS[ground].every((field) => !machine.unsettled.has(field));
}

/** Returns true if the read of a machine agrees with the lists. */
export function readAgrees(machine: Machine, read: MachineRead, ground: Ground): boolean {
  switch (ground) {
    case 'status':
      // An ended container and a silent host are tolerated for different times.
      return stateClass(machine) === stateClass(read) && hasExited(machine) === hasExited(read);
    case 'contract':
      return readAgrees(machine, read, 'status') && isSameSecond(machine.endsAt, read.endsAt);
    case 'price':
      return machine.pricePerHour === read.pricePerHour || isStopped(read);
    case 'label':
      return machine.label === read.label && machine.startedAt === read.startedAt;
    case 'presence':
      return true;
  }
}
