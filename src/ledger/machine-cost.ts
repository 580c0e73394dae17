import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { labels as labelNames } from '../api/v1alpha1/names.ts';
import { accountKey, accountRefOf } from '../instance/account-ref.ts';
import { isCostEstimated, machineCost, machineCostUntil, monthName, monthStart } from '../instance/cost.ts';
import { ownValue } from '../lib/json.ts';
import { type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseTime } from '../lib/time.ts';
import { type Counted, type Entry, machineKey } from './entry.ts';
import type { MonthEntry } from './ledger.ts';
import { laterMonth, monthEndOf, monthStartOf } from './months.ts';

/** No machine of this operator began before it existed; an earlier date is wrong. */
const EARLIEST = Date.UTC(2020, 0);

/** Machine of an object, and its cost over time. */
interface MachineCost {
  readonly machine: string;
  readonly gpu: string;
  readonly gpus: number;
  readonly start: number;
  readonly price: MicroDollars | undefined;
  readonly isEstimated: boolean;
  /** Returns the cost from its begin until then; undefined if the object does not separate that time. */
  readonly costUntil: (at: number) => MicroDollars | undefined;
}

interface EndedMachine extends MachineCost {
  readonly end: number;
  readonly reason: string;
  /** Cost of its whole time. */
  readonly cost: MicroDollars;
}

/** Input in addition to the object. */
export interface EntryInput {
  /** Newest record of each machine, by key. */
  readonly counted: ReadonlyMap<string, Counted>;
  /** Names of the labels that entries keep. */
  readonly labels: readonly string[];
}

/** End of the present machine of an object that is deleted. */
export interface MachineEnd {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly reason: string;
}

/**
 * Returns the entries of the ended machines of an object that the ledger lacks; with `end` the present machine is one
 * of them. Empty for an object that only observes its machine, since it pays nothing.
 */
export function endedEntries(
  instance: GpuInstance,
  input: EntryInput,
  end?: MachineEnd,
): readonly MonthEntry[] {
  if (isFree(instance)) return [];
  const ended = [...pastMachines(instance), ...(end ? endingMachine(instance, end) : [])];
  return ended.flatMap((machine) => monthsOf(instance, machine, input, { ...machine, until: machine.end }));
}

function endingMachine(instance: GpuInstance, { at, reason }: MachineEnd): readonly EndedMachine[] {
  const machine = presentMachine(instance, at);
  if (!machine) return [];
  const end = Math.max(at, machine.start);
  return [{ ...machine, end, reason, cost: machineCost(instance.status, end) }];
}

/**
 * Returns the entries of the present machine for the months that ended `graceMs` ago and that the ledger does not have.
 * Returns no entry until the price is confirmed, because a confirmed price may change past costs.
 */
export function closedEntries(
  instance: GpuInstance,
  input: EntryInput,
  { now, graceMs }: { readonly now: number; readonly graceMs: number },
): readonly MonthEntry[] {
  const machine = isFree(instance) ? undefined : presentMachine(instance, now);
  const until = monthStart(now - graceMs);
  const isDated = instance.status?.rentedAt !== undefined && !isCostEstimated(instance.status.cost);
  if (!machine || !isDated || machine.start >= until) return [];
  return monthsOf(instance, machine, input, { until });
}

/** Returns the entries until `now` that the ledger does not have yet: of ended machines, and of the present one. */
export function openEntries(instance: GpuInstance, input: EntryInput, now: number): readonly MonthEntry[] {
  const machine = isFree(instance) ? undefined : presentMachine(instance, now);
  const cost = machineCost(instance.status, now);
  const running = machine ? monthsOf(instance, machine, input, { until: now, cost }) : [];
  return [...endedEntries(instance, input), ...running];
}

/** Returns true if the ledger needs the record of a machine: an object still shows the machine. */
export function shownMachines(instance: GpuInstance): readonly string[] {
  const { instanceId, history = [] } = instance.status ?? {};
  const ids = [...history.map((past) => past.instanceId), ...(instanceId === undefined ? [] : [instanceId])];
  return ids.map((machine) => machineKey({ uid: instance.metadata.uid ?? '', machine }));
}

function isFree({ spec }: GpuInstance): boolean {
  return spec.adopt?.policy === 'Observe';
}

interface Span {
  readonly until: number;
  /** Cost until then, if the object need not separate that time. */
  readonly cost?: MicroDollars;
  /** Reason of the end of the machine; undefined if it runs on. */
  readonly reason?: string;
}

/**
 * Splits the cost of a machine by month, after the part that the ledger has. The parts add up to the cost of the
 * machine: a cost that the object does not separate by month belongs to the next separated month.
 */
function monthsOf(
  instance: GpuInstance,
  machine: MachineCost,
  { counted, labels }: EntryInput,
  span: Span,
): readonly MonthEntry[] {
  const { uid = '' } = instance.metadata;
  const known = counted.get(machineKey({ uid, machine: machine.machine }));
  if (known?.hasEnded) return [];
  const base = entryOf(instance, machine, labels);
  const { first, last, total } = rangeOf(machine, known, span);
  const entries: MonthEntry[] = [];
  let before = total;
  for (let month = first; month <= last; month = laterMonth(month, 1)) {
    const amounts = amountsUntil(machine, { month, last, before }, span);
    if (!amounts) continue;
    entries.push({ month, entry: { ...base, ...amounts } });
    before = amounts.total;
  }
  return entries;
}

/**
 * Returns the months that the ledger lacks, and the cost before them. A machine that ended before the end of a month
 * that the ledger has closed replaces that month.
 */
function rangeOf(
  { start }: MachineCost,
  known: Counted | undefined,
  { until, reason }: Span,
): { readonly first: string; readonly last: string; readonly total: MicroDollars } {
  const last = monthName(Math.max(start, until - 1));
  if (!known) return { first: monthName(start), last, total: 0 };
  if (known.month < last || reason === undefined)
    return { first: laterMonth(known.month, 1), last, total: known.total };
  return { first: known.month, last: known.month, total: known.total - (known.cost ?? 0) };
}

function amountsUntil(
  machine: MachineCost,
  { month, last, before }: { readonly month: string; readonly last: string; readonly before: MicroDollars },
  { until, reason, cost: whole }: Span,
): Pick<Entry, 'start' | 'end' | 'cost' | 'total' | 'reason'> | undefined {
  const isLast = month === last;
  const end = isLast ? until : monthEndOf(month);
  const cost = machine.costUntil(end) ?? (isLast ? whole : undefined);
  if (cost === undefined) return undefined;
  const total = Math.max(before, cost);
  const start = Math.min(end, Math.max(machine.start, monthStartOf(month)));
  return { start, end, cost: total - before, total, reason: isLast ? reason : undefined };
}

function entryOf(
  instance: GpuInstance,
  { machine, gpu, gpus, price, isEstimated }: MachineCost,
  labels: readonly string[],
): Omit<Entry, 'start' | 'end' | 'cost' | 'total' | 'reason'> {
  const { metadata } = instance;
  return {
    account: accountKey(accountRefOf(instance)),
    namespace: metadata.namespace ?? '',
    group: ownValue(metadata.labels, labelNames.endpointGroup) ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    labels: Object.fromEntries(
      labels.flatMap((name) => {
        const value = ownValue(metadata.labels, name);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    ...{ machine, gpu, gpus, price, isEstimated },
  };
}

function presentMachine({ status = {} }: GpuInstance, now: number): MachineCost | undefined {
  const { instanceId, rentedAt, cost, gpu } = status;
  if (instanceId === undefined || cost === undefined) return undefined;
  return {
    machine: instanceId,
    gpu: gpu?.name ?? '',
    gpus: gpu?.count ?? 1,
    start: Math.max(EARLIEST, Math.min(now, parseTime(rentedAt) ?? parseTime(cost.since) ?? now)),
    price: parseDollars(cost.pricePerHour),
    isEstimated: isCostEstimated(cost),
    costUntil: (at) => machineCostUntil(status, at),
  };
}

type PastMachine = NonNullable<GpuInstanceStatus['history']>[number];

function pastMachines({ status }: GpuInstance): readonly EndedMachine[] {
  return (status?.history ?? []).flatMap((past) => pastMachine(past) ?? []);
}

function pastMachine(past: PastMachine): EndedMachine | undefined {
  const end = parseTime(past.endedAt);
  if (end === undefined) return undefined;
  const cost = parseDollars(past.cost) ?? 0;
  const before = parseDollars(past.costBeforeMonth) ?? 0;
  const begun = parseTime(past.rentedAt) ?? end - past.rentedMinutes * 60_000;
  const start = Math.max(EARLIEST, Math.min(end, begun));
  return {
    machine: past.instanceId,
    gpu: past.gpuName ?? '',
    gpus: past.gpuCount ?? 1,
    ...{ start, end, cost },
    reason: past.reason,
    price: parseDollars(past.pricePerHour),
    isEstimated: past.costEstimated === true,
    costUntil: (at) => {
      if (at >= end) return cost;
      return at === monthStart(end) ? before : undefined;
    },
  };
}
